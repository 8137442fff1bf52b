import { HeddleError } from '../../../src/errors.ts'
import type { SimulatedProcess, World } from './world.ts'

/** The connection of a process to the database: it delays, it can be cut, and it can lose answers. */
export class Link {
  readonly #world: World
  readonly #process: SimulatedProcess
  isCut = false

  constructor(world: World, process: SimulatedProcess) {
    this.#world = world
    this.#process = process
  }

  /** Carries a call to the database and its answer back. */
  call<T>(carryOut: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const lose = (): void => {
        this.#world.after(this.#delay(), () => this.#process.receive(() => reject(linkLost())))
      }
      this.#world.after(this.#delay(), () => {
        // Lost on its way: the database never sees it.
        if (this.isCut) return lose()
        void carryOut().then(
          (answer) => {
            this.#world.after(this.#delay(), () => {
              // Lost on its way back: the database has carried it out.
              if (this.isCut) lose()
              else this.#process.receive(() => resolve(answer))
            })
          },
          (error: unknown) => {
            this.#world.after(this.#delay(), () => this.#process.receive(() => reject(error)))
          },
        )
      })
    })
  }

  #delay(): number {
    return this.#world.chance(0.02) ? this.#world.between(500, 9_000) : this.#world.between(0.2, 20)
  }
}

function linkLost(): HeddleError {
  return new HeddleError('HDL_STORE_FAILED', {
    store: 'The database',
    action: 'be reached',
    cause: 'the connection was lost',
  })
}
