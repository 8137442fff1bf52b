import { Attempt, type AttemptControl } from '../attempts/attempt.ts'
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

/** Finds the dependencies of a node by name. */
export type FindDependencies = (node: Node) => ReadonlyMap<string, Node>

/** One call of the user's function for one node. */
export class NodeAttempt extends Attempt<Node> implements NodeContext {
  readonly #find: FindDependencies
  #dependencies: ReadonlyMap<string, Node> | undefined

  constructor(node: Node, control: AttemptControl, find: FindDependencies) {
    super(node, control)
    this.#find = find
  }

  /** Can be taken out of the context, like a function. */
  get resultOf(): (name: string) => unknown {
    return (name) => this.#resultOf(name)
  }

  #resultOf(name: string): unknown {
    // Once per attempt: a node that collects 10,000 results asks 10,000 times.
    this.#dependencies ??= this.#find(this.entry)
    const dependency = this.#dependencies.get(name)
    if (dependency === undefined) {
      throw new HeddleError('HDL_NOT_A_DEPENDENCY', { node: this.name, dependency: name })
    }
    return dependency.value
  }
}
