#!/bin/bash
# One task of an array of PBS Pro, OpenPBS or Torque computes one shard of a run. Set the two lines below, then, with PBS:
#
#   qsub -J 1-50 pbs.sh                                      # with more processors: -l select=1:ncpus=4
#   echo "cd $PWD && crfe-tui report RUN" | qsub -W depend=afterany:JOB
#
# and with Torque:
#
#   qsub -t 1-50 pbs.sh                                      # with more processors: -l nodes=1:ppn=4
#   echo "cd $PWD && crfe-tui report RUN" | qsub -W depend=afteranyarray:JOB
#
# JOB is what the first qsub prints. A task that is started or submitted again resumes where it stopped.
#PBS -N crfe
#PBS -S /bin/bash
#PBS -j oe
#PBS -r y

tasks=50
run=(data.csv --splits 200 --out RUN)

cd "$PBS_O_WORKDIR" || exit 1
# The first variable is that of PBS, the second that of Torque.
exec crfe-tui run "${run[@]}" --shard "${PBS_ARRAY_INDEX:-$PBS_ARRAYID}/$tasks"
