/**
 * The steps of OpenWorkflow, at its store: every job is a step of a workflow run, written when it starts and when it is
 * completed. Its worker, which looks for runs from time to time, and its limit of 1,000 steps a run are left out.
 */
import type { JobQueue, QueueOptions } from '../contract.ts'

interface Owned {
  readonly workflowRunId: string
  readonly workerId: string
}

/** The interface that the stores of OpenWorkflow share, as far as it is used. */
export interface StepStore {
  createWorkflowRun(run: object): Promise<unknown>
  claimWorkflowRun(options: {
    workerId: string
    leaseDurationMs: number
  }): Promise<{ id: string } | null>
  createStepAttempt(
    step: Owned & {
      readonly stepName: string
      readonly kind: 'function'
      readonly config: object
      readonly context: null
    },
  ): Promise<{ id: string }>
  completeStepAttempt(
    step: Owned & { readonly stepAttemptId: string; readonly output: unknown },
  ): Promise<unknown>
}

const workerId = 'bench'

/** `runs`: the workflow runs that the steps are spread over. */
export async function openSteps(
  backend: StepStore,
  runs: number,
  { run, onDone }: QueueOptions,
): Promise<JobQueue> {
  const owned: Owned[] = []
  for (let count = 0; count < runs; count++) {
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
    owned.push({ workflowRunId: claimed!.id, workerId })
  }
  const start = (of: Owned, job: number) =>
    backend.createStepAttempt({
      ...of,
      stepName: `step ${job}`,
      kind: 'function',
      config: {},
      context: null,
    })
  const finish = async (of: Owned, job: number, stepAttemptId: string): Promise<void> => {
    run(job)
    await backend.completeStepAttempt({ ...of, stepAttemptId, output: null })
    onDone(job)
  }
  return {
    transitions: 2,
    add: (jobs) =>
      Promise.all(
        jobs.map(async (job) => {
          const of = owned[job % owned.length]!
          const { id } = await start(of, job)
          void finish(of, job, id)
        }),
      ),
  }
}
