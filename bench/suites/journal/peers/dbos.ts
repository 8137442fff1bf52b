/**
 * DBOS on PostgreSQL: every job is a step of one workflow, which is recorded when it has ended. The workflow stays open;
 * steps are started in its context, as many at once as the row says. A step that waits to be started is not recorded, so a
 * job has one durable change.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { DBOS } from '@dbos-inc/dbos-sdk'
import type { OpenQueue } from '../contract.ts'
import { postgresAddress } from './postgres-address.ts'

export const open: OpenQueue = async ({ durability, run, onDone }) => {
  DBOS.setConfig({
    name: 'bench',
    applicationVersion: '1',
    systemDatabaseUrl: postgresAddress(durability),
    systemDatabaseSchemaName: `dbos_${process.pid}`,
    logLevel: 'error',
  })
  const { promise: entered, resolve: enter } =
    Promise.withResolvers<ReturnType<typeof AsyncLocalStorage.snapshot>>()
  const workflow = DBOS.registerWorkflow(
    () => {
      enter(AsyncLocalStorage.snapshot())
      return new Promise<void>(() => undefined)
    },
    { name: 'bench' },
  )
  await DBOS.launch()
  await DBOS.startWorkflow(workflow)()
  const inWorkflow = await entered
  const finish = async (job: number): Promise<void> => {
    // oxlint-disable-next-line require-await -- a step returns a promise
    await inWorkflow(() => DBOS.runStep(async () => run(job), { name: 'job' }))
    onDone(job)
  }
  return {
    transitions: 1,
    // oxlint-disable-next-line require-await -- nothing is recorded when a step is started
    add: async (jobs) => {
      for (const job of jobs) void finish(job)
    },
  }
}
