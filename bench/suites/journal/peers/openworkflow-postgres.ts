/**
 * OpenWorkflow on PostgreSQL, with its own pool of ten connections. It locks the run of a step while it writes the step,
 * so the steps are spread over sixteen runs: with one run it would be slower.
 */
import { BackendPostgres } from 'openworkflow/postgres'
import type { OpenQueue } from '../contract.ts'
import { openSteps } from './openworkflow-steps.ts'
import { postgresAddress } from './postgres-address.ts'

export const open: OpenQueue = async (options) => {
  const schema = `openworkflow_${process.pid}`
  const backend = await BackendPostgres.connect(postgresAddress(options.durability), { schema })
  return openSteps(backend, options.concurrency === 1 ? 1 : 16, options)
}
