#!/usr/bin/env nextflow
// A run divided into shards, which Nextflow scatters over a cluster, and the report that gathers them: the files of an undivided
// run, byte for byte. A task that fails or is resumed repeats its own shard only.
//
//   nextflow run examples/nextflow/main.nf --data data.csv --shards 50 --options '--splits 200' --out RUN
//
// With a container: -with-docker crfe-tui or -with-apptainer crfe-tui.sif (docs/install.md).

nextflow.enable.dsl = 2

params.data = null
params.shards = 4
params.options = ''
params.out = 'RUN'

process SHARD {
    tag "${shard} of ${params.shards}"
    cpus 1
    errorStrategy 'retry'
    maxRetries 2

    input:
    tuple val(shard), path(data)

    output:
    path "shard-${shard}"

    script:
    """
    crfe-tui run ${data} ${params.options} --shard ${shard}/${params.shards} --threads ${task.cpus} --quiet --out shard-${shard}
    """
}

process REPORT {
    errorStrategy 'retry'
    maxRetries 2
    publishDir params.out, mode: 'copy', saveAs: { name -> name.replaceFirst('^RUN/', '') }

    input:
    path shards
    path data

    output:
    path 'RUN/*'

    script:
    """
    crfe-tui report ${shards} --data ${data} --quiet --out RUN
    """
}

workflow {
    if (!params.data) {
        error 'Name the table: --data data.csv'
    }
    data = file(params.data, checkIfExists: true)
    shards = SHARD(Channel.of(1..params.shards).map { shard -> tuple(shard, data) })
    REPORT(shards.collect(), data)
}
