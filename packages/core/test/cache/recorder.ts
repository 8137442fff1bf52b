import type { Step } from './history.ts'

/** Records calls and answers, with a clock that ticks at each of them. */
export class Recorder {
  #now = 0
  /** Calls that have not ended. */
  running = 0

  /** An instant of its own. */
  tick(): number {
    return this.#now++
  }

  /**
   * Follows a call. Until it has ended, it may or may not have had its effect.
   * `onFailure` gives the effect of a failed call; it throws when the call must not fail.
   */
  follow<S, T>(
    lists: readonly Step<S>[][],
    name: string,
    work: Promise<T>,
    effect: (result: T | undefined) => Step<S>['after'],
    onFailure: (error: unknown, step: Step<S>, list: Step<S>[]) => void,
  ): void {
    const start = this.tick()
    const added = lists.map((list) => {
      const step = { name, start, end: Infinity, after: effect(undefined), isOptional: true }
      list.push(step)
      return { step, list }
    })
    this.running++
    const ended = (): number => {
      this.running--
      return this.tick()
    }
    work.then(
      (result) => {
        const end = ended()
        for (const { step } of added) {
          step.end = end
          step.name = `${name} → ${String(result)}`
          step.after = effect(result)
          step.isOptional = false
        }
      },
      (error: unknown) => {
        const end = ended()
        for (const { step, list } of added) {
          step.end = end
          step.name = `${name} → failed`
          onFailure(error, step, list)
        }
      },
    )
  }
}
