/**
 * OpenWorkflow on `node:sqlite`, at its store: every job is a step of one workflow run, written when it
 * starts and when it is completed. Its worker, which looks for runs from time to time, and its limit of
 * 1,000 steps a run are left out. It writes on the loop.
 */
import path from 'node:path'
import { BackendSqlite } from 'openworkflow/sqlite'
import type { OpenQueue } from '../contract.ts'
import { workFolder } from '../../../servers/work-folder.ts'

const workerId = 'bench'

export const open: OpenQueue = async ({ durability, run, onDone }) => {
  const backend = BackendSqlite.connect(path.join(await workFolder(), 'openworkflow.db'))
  // FULL is what SQLite does unless it is told otherwise.
  if (durability === 'process') backend.db.exec('PRAGMA synchronous = NORMAL')
  await backend.createWorkflowRun({
    workflowName: 'bench',
    version: null,
    idempotencyKey: null,
    config: {},
    context: null,
    input: null,
    availableAt: null,
    deadlineAt: null,
  })
  const claimed = await backend.claimWorkflowRun({ workerId, leaseDurationMs: 3_600_000 })
  const of = { workflowRunId: claimed!.id, workerId }
  const finish = async (job: number, stepAttemptId: string): Promise<void> => {
    run(job)
    await backend.completeStepAttempt({ ...of, stepAttemptId, output: null })
    onDone(job)
  }
  return {
    transitions: 2,
    add: async (jobs) => {
      for (const job of jobs) {
        const step = await backend.createStepAttempt({
          ...of,
          stepName: `step ${job}`,
          kind: 'function',
          config: {},
          context: null,
        })
        void finish(job, step.id)
      }
    },
  }
}
