import type { PlacePermits } from '../capacity/lane-table.ts'
import type { Needs, OwnLimits } from '../graph/job.ts'
import type { NodeAttempt } from '../scheduler/node-attempt.ts'
import type { Part, PartEnd, PartOptions } from '../scheduler/part.ts'

/** The needs of an element, or why they are not known. */
export interface Needed {
  readonly needs?: Needs | undefined
  readonly failure?: { readonly error: Error }
}

/** The map of an element. */
export interface ElementOwner {
  /** Limits of each element. */
  readonly limits: OwnLimits
  readonly permits: PlacePermits | undefined
  /** The outcome of the element in this attempt. */
  runElement(element: MapElement, attempt: NodeAttempt): unknown
  onElementEnd(element: MapElement, end: PartEnd, now: number): void
}

/**
 * An element of a map while it waits or runs, with the scheduler's questions about it. A map may have a million of
 * them: a class costs less than an object with functions and limits of its own for each.
 */
export class MapElement implements PartOptions {
  readonly #map: ElementOwner
  readonly value: unknown
  readonly index: number
  readonly path: string
  readonly needs: Needs | undefined
  readonly failure: Needed['failure']
  /** Rows of steps that an earlier process has left. */
  past: readonly unknown[] | undefined
  /** The attempt's part under way, once it was started. */
  part: Part | undefined
  liveIndex = -1

  constructor(map: ElementOwner, value: unknown, index: number, path: string, needed: Needed) {
    this.#map = map
    this.value = value
    this.index = index
    this.path = path
    this.needs = needed.needs
    this.failure = needed.failure
  }

  get kind(): 'element' {
    return 'element'
  }

  get place(): PlacePermits | undefined {
    return this.#map.permits
  }

  get retries(): number | undefined {
    return this.#map.limits.retries
  }

  get retryBaseDelay(): number | undefined {
    return this.#map.limits.retryBaseDelay
  }

  get timeout(): number | undefined {
    return this.#map.limits.timeout
  }

  get priority(): number | undefined {
    return this.#map.limits.priority
  }

  call(attempt: NodeAttempt): unknown {
    return this.#map.runElement(this, attempt)
  }

  onEnd(end: PartEnd, now: number): void {
    this.#map.onElementEnd(this, end, now)
  }
}
