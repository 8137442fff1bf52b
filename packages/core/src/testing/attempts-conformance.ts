import { describe, test } from 'node:test'
import { attemptsCases } from './attempts-cases.ts'
import type { OpenAttemptsDriver } from './attempts-driver.ts'

/**
 * Registers the tests that say "a job behaves the same everywhere", with `node:test`: outcomes, attempts,
 * timeouts, back-off, cancel, grace, logs, errors and rows of the journal. `open` makes a runner of jobs,
 * a new one for each case.
 */
export function attemptsConformance(name: string, open: OpenAttemptsDriver): void {
  describe(`attempts conformance: ${name}`, () => {
    for (const each of attemptsCases) {
      test(each.title, { timeout: 300_000 }, () => each.run(open))
    }
  })
}
