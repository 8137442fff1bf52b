/**
 * Which step the code that runs belongs to (G16 of docs/design/growing.md).
 *
 * A job that waits for a step does not call its own `ctx` meanwhile, but the function of the step can hold that `ctx` too. A step made
 * through it belongs to the outer job: after a restart the outer job would not ask for it, because a recorded step is not called again.
 * And with one permit the inner step waits for one that cannot start before it has ended.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Job } from '../graph/job.ts'
import type { NodeAttempt } from '../scheduler/node-attempt.ts'
import { Part } from '../scheduler/part.ts'

const steps = new AsyncLocalStorage<Part>()

/** Calls the function of a step, so that its own calls are known to be inside of it. */
export function runAsStep(attempt: NodeAttempt, job: Job, call: () => unknown): unknown {
  // Code elsewhere has no context of this process.
  return job.place === 'loop' && attempt.entry instanceof Part
    ? steps.run(attempt.entry, call)
    : call()
}

/**
 * The step that calls and that was started by this attempt, directly or by a step of it. Attempts are compared and not
 * nodes: code of an attempt that has ended may have started the one that runs now.
 */
export function findStepWithin(attempt: NodeAttempt): Part | undefined {
  const caller = steps.getStore()
  let step = caller
  while (step !== undefined && step.starter !== attempt) step = outerOf(step)
  return step === undefined ? undefined : caller
}

function outerOf({ starter }: Part): Part | undefined {
  return starter.entry instanceof Part ? starter.entry : undefined
}
