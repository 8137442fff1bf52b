import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkCount, checkDuration, checkName, checkOptions } from '../../src/kernel/check.ts'

const refuses = (action: () => unknown, message: string): void => {
  assert.throws(action, { code: 'HDL_BAD_OPTION', message, retryable: false })
}

test('checkCount() takes whole numbers from the least on', () => {
  assert.equal(checkCount('concurrency', 1), 1)
  assert.equal(checkCount('retries', 0, 0), 0)
  const expected = 'a whole number of at least 1'
  for (const value of [0, -1, 1.5, Number.NaN, Infinity]) {
    refuses(
      () => checkCount('concurrency', value),
      `Option "concurrency" is ${value}, expected ${expected}.`,
    )
  }
  refuses(
    () => checkCount('concurrency', '5' as never),
    `Option "concurrency" is "5", expected ${expected}.`,
  )
})

test('checkCount() takes Infinity where that means no limit', () => {
  assert.equal(checkCount('waiters', Infinity, 1, true), Infinity)
  refuses(
    () => checkCount('waiters', -Infinity, 1, true),
    'Option "waiters" is -Infinity, expected a whole number of at least 1 or Infinity.',
  )
})

test('checkDuration() takes anything from 0 to Infinity', () => {
  for (const value of [0, 0.5, 600_000, Infinity])
    assert.equal(checkDuration('timeout', value), value)
  for (const value of [-1, Number.NaN]) {
    refuses(
      () => checkDuration('timeout', value),
      `Option "timeout" is ${value}, expected a number of milliseconds of at least 0.`,
    )
  }
  refuses(
    () => checkDuration('timeout', null as never),
    'Option "timeout" is null, expected a number of milliseconds of at least 0.',
  )
})

test('checkName() takes non-empty strings and shows what it got', () => {
  assert.equal(checkName('name', 'parse'), 'parse')
  refuses(() => checkName('name', ''), 'Option "name" is "", expected a non-empty string.')
  refuses(() => checkName('name', 7 as never), 'Option "name" is 7, expected a non-empty string.')
  refuses(
    () => checkName('name', Object.create(null) as never),
    'Option "name" is [object], expected a non-empty string.',
  )
})

test('checkOptions() takes known names only, and suggests one', () => {
  const known = { concurrency: 1, retries: 1 } as const
  checkOptions<object>({}, known)
  checkOptions<{ retries?: number; concurrency?: number }>({ retries: 1 }, known)
  assert.throws(() => checkOptions<object>({ concurency: 8 }, known), {
    code: 'HDL_UNKNOWN_OPTION',
    message: 'There is no option "concurency". Did you mean "concurrency"?',
  })
  refuses(
    () => checkOptions<object>(null as never, known),
    'Option "options" is null, expected an object with options, or nothing.',
  )
  assert.throws(() => checkOptions<object>({ toString: 1 }, known), { code: 'HDL_UNKNOWN_OPTION' })
})
