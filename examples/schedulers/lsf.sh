#!/bin/bash
# One task of an LSF array computes one shard of a run. Set the two lines below, then:
#
#   bsub -J 'crfe[1-50]' < lsf.sh                            # with more processors: -n 4 -R 'span[hosts=1]'
#   bsub -w 'ended(JOB)' crfe-tui report RUN                 # when every task has ended
#
# JOB is the number that the first bsub prints. A task that is started or submitted again resumes where it stopped.
#BSUB -L /bin/bash
#BSUB -r

tasks=50
run=(data.csv --splits 200 --out RUN)

exec crfe-tui run "${run[@]}" --shard "$LSB_JOBINDEX/$tasks"
