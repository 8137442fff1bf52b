import {
  Attempt,
  control,
  markStepped,
  type AttemptControl,
  type AttemptSteps,
  type DurableSteps,
} from '../attempts/attempt.ts'
import type { ArtifactContent, ArtifactInfo } from '../artifacts/artifact-store.ts'
import { HeddleError } from '../errors.ts'
import type { JobContext } from '../graph/job.ts'
import type { Node } from './node.ts'

/** What the callback of {@link Scheduler.run} is given besides the name. */
export interface NodeContext extends JobContext {
  /**
   * What a dependency's callback returned.
   * @throws `HDL_NOT_A_DEPENDENCY`.
   */
  readonly resultOf: (name: string) => unknown
}

/** Writes an artifact of an attempt. */
export type PutArtifact = (
  attempt: NodeAttempt,
  name: string,
  content: ArtifactContent,
) => Promise<ArtifactInfo>

/** What attempts of nodes ask for: of the attempt runner, and of the graph. */
export class NodeControl implements AttemptControl {
  readonly #attempts: AttemptControl
  readonly #find: (node: Node) => ReadonlyMap<string, Node>
  // Here and not in the attempt: most attempts ask for nothing, and a field costs each of them.
  readonly #dependencies = new WeakMap<NodeAttempt, ReadonlyMap<string, Node>>()

  readonly #steps = new WeakMap<NodeAttempt, AttemptSteps>()
  #makeSteps: ((attempt: NodeAttempt) => AttemptSteps) | undefined

  #putArtifact: PutArtifact | undefined

  constructor(attempts: AttemptControl, find: (node: Node) => ReadonlyMap<string, Node>) {
    this.#attempts = attempts
    this.#find = find
  }

  get abortGrace(): number {
    return this.#attempts.abortGrace
  }

  /** Looked for once per attempt: a node that collects 10,000 results asks 10,000 times. */
  dependenciesOf(attempt: NodeAttempt): ReadonlyMap<string, Node> {
    let found = this.#dependencies.get(attempt)
    if (found === undefined) this.#dependencies.set(attempt, (found = this.#find(attempt.entry)))
    return found
  }

  /** From here on loop jobs can make durable steps. */
  setSteps(stepsOf: (attempt: NodeAttempt) => AttemptSteps): void {
    this.#makeSteps = stepsOf
  }

  stepsOf(attempt: NodeAttempt, step: string): DurableSteps {
    if (this.#makeSteps === undefined) return this.#attempts.stepsOf(attempt, step)
    let steps = this.#steps.get(attempt)
    if (steps === undefined) {
      this.#steps.set(attempt, (steps = this.#makeSteps(attempt)))
      markStepped(attempt)
    }
    return steps
  }

  /** Why a job that has returned has failed all the same. */
  objectionTo(attempt: NodeAttempt): Error | undefined {
    return this.#steps.get(attempt)?.onReturned()
  }

  /** From here on jobs can write artifacts. */
  setArtifacts(put: PutArtifact): void {
    this.#putArtifact = put
  }

  artifact(attempt: NodeAttempt, name: string, content: ArtifactContent): Promise<ArtifactInfo> {
    const put = this.#putArtifact
    if (put === undefined) return this.#attempts.artifact(attempt, name, content)
    // The node, or the whole run, has ended: nothing is added to it.
    if (attempt.list === undefined) {
      const what = `The attempt of "${attempt.name}"`
      return Promise.reject(new HeddleError('HDL_CLOSED', { what }))
    }
    return put(attempt, name, content)
  }

  identify(attempt: NodeAttempt): string {
    return this.#attempts.identify(attempt)
  }

  traceOf(attempt: NodeAttempt): string | undefined {
    return this.#attempts.traceOf(attempt)
  }

  log(attempt: NodeAttempt, text: string): void {
    this.#attempts.log(attempt, text)
  }

  progress(attempt: NodeAttempt, fraction: number, text: string | undefined): void {
    this.#attempts.progress(attempt, fraction, text)
  }

  stopTimeout(attempt: NodeAttempt): void {
    this.#attempts.stopTimeout(attempt)
  }

  startTimeout(attempt: NodeAttempt): void {
    this.#attempts.startTimeout(attempt)
  }

  suspend(attempt: NodeAttempt): boolean {
    return this.#attempts.suspend(attempt)
  }

  resume(attempt: NodeAttempt): Promise<void> {
    return this.#attempts.resume(attempt)
  }
}

/** One call of the user's function for one node. */
export class NodeAttempt extends Attempt<Node> implements NodeContext {
  declare readonly [control]: NodeControl

  /** Can be taken out of the context, like a function. */
  get resultOf(): (name: string) => unknown {
    return (name) => {
      const dependency = this[control].dependenciesOf(this).get(name)
      if (dependency !== undefined) return dependency.value
      throw new HeddleError('HDL_NOT_A_DEPENDENCY', { node: this.name, dependency: name })
    }
  }
}
