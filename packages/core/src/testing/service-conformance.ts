import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isError } from '../errors.ts'
import type { RunningService, Service } from '../kernel/service.ts'

/** A part with a life, made for one case. */
export interface ServiceDriver extends Partial<AsyncDisposable> {
  /** A service without `start` runs from the moment it is made. */
  readonly service: RunningService & Partial<Pick<Service, 'start'>>
  /** Gives it work that does not end by itself. Absent where there is none. */
  occupy?(): Promise<void> | void
  /** Timers and whatever else the part holds outside of it. None may be left after the stop. */
  held?(): number
}

export type OpenServiceDriver = () => Promise<ServiceDriver> | ServiceDriver

interface Subject extends ServiceDriver {
  start(): Promise<void>
}

type Need = 'start' | 'occupy'

interface Case {
  readonly title: string
  readonly needs?: Need
  run(subject: Subject): Promise<void>
}

const stateOf = ({ service }: Subject): string => service.stats().state

/** The invariants of kernel/service.ts, as functions that throw when a part does not keep them. */
const serviceCases: readonly Case[] = [
  {
    title: 'V3: stop() before the start is harmless, and the part can be started after it',
    needs: 'start',
    async run(subject) {
      assert.equal(stateOf(subject), 'stopped')
      await subject.service.stop()
      assert.equal(stateOf(subject), 'stopped')
      await subject.start()
      assert.equal(stateOf(subject), 'running')
    },
  },
  {
    title: 'V2: start() twice starts once',
    needs: 'start',
    async run(subject) {
      await Promise.all([subject.start(), subject.start()])
      assert.equal(stateOf(subject), 'running')
      await subject.start()
      assert.equal(stateOf(subject), 'running')
    },
  },
  {
    title: 'V3: stop() during the start is harmless: both calls end, and the part is stopped',
    needs: 'start',
    async run(subject) {
      const started = subject.start()
      await subject.service.stop()
      await started
      assert.equal(stateOf(subject), 'stopped')
    },
  },
  {
    title: 'V2, V4: start() after and during the stop starts again',
    needs: 'start',
    async run(subject) {
      await subject.start()
      await subject.service.stop()
      await subject.start()
      assert.equal(stateOf(subject), 'running')
      const stopped = subject.service.stop()
      await subject.start()
      await stopped
      assert.equal(stateOf(subject), 'running')
    },
  },
  {
    title: 'V3: stop() twice, at the same time and after it, is harmless',
    async run(subject) {
      await subject.start()
      assert.equal(stateOf(subject), 'running')
      await Promise.all([subject.service.stop(), subject.service.stop({ deadline: 0 })])
      assert.equal(stateOf(subject), 'stopped')
      await subject.service.stop()
      assert.equal(stateOf(subject), 'stopped')
    },
  },
  {
    title: 'V5: work that does not end is cut off at the deadline',
    needs: 'occupy',
    async run(subject) {
      await subject.start()
      await subject.occupy!()
      await subject.service.stop({ deadline: 0 })
      assert.equal(stateOf(subject), 'stopped')
    },
  },
  {
    title: 'V5: of all deadlines and signals the earliest counts',
    needs: 'occupy',
    async run(subject) {
      await subject.start()
      await subject.occupy!()
      const patient = subject.service.stop({ deadline: Infinity })
      await subject.service.stop({ deadline: Infinity, signal: AbortSignal.abort() })
      await patient
      assert.equal(stateOf(subject), 'stopped')
    },
  },
  {
    title: 'a deadline that is not a duration is refused, and the part runs on',
    async run(subject) {
      await subject.start()
      const refused = (error: unknown): boolean => isError(error, 'HDL_BAD_OPTION')
      await assert.rejects(async () => subject.service.stop({ deadline: -1 }), refused)
      assert.equal(stateOf(subject), 'running')
    },
  },
]

/**
 * Registers the tests that every part with a life passes, with `node:test`. `open` makes one for each case. After
 * each case the part is stopped, and holds nothing any more (V6).
 */
export function serviceConformance(name: string, open: OpenServiceDriver): void {
  describe(`service conformance: ${name}`, () => {
    for (const each of serviceCases) {
      test(each.title, async (t) => {
        const driver = await open()
        const { service } = driver
        const start = async (): Promise<void> => service.start?.()
        const isMet =
          each.needs === undefined ||
          (each.needs === 'start' ? service.start !== undefined : driver.occupy !== undefined)
        try {
          if (isMet) await each.run({ ...driver, start, service, occupy: () => driver.occupy?.() })
          else t.skip(each.needs === 'start' ? 'it runs when it is made' : 'it has no work')
          await service.stop({ deadline: 0 })
          assert.equal(driver.held?.() ?? 0, 0, 'held after the stop')
        } finally {
          await driver[Symbol.asyncDispose]?.()
        }
      })
    }
  })
}
