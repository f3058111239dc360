#!/bin/bash
# One task of a Grid Engine array computes one shard of a run. Set the two lines below, then:
#
#   qsub -t 1-50 sge.sh                                      # with more processors: -pe smp 4
#   qsub -hold_jid crfe -cwd -b y crfe-tui report RUN        # when every task has ended
#
# A task that is started or submitted again resumes where it stopped.
#$ -N crfe
#$ -S /bin/bash
#$ -cwd
#$ -j y
#$ -r y

tasks=50
run=(data.csv --splits 200 --out RUN)

exec crfe-tui run "${run[@]}" --shard "$SGE_TASK_ID/$tasks"
