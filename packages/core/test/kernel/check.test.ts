import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  checkCount,
  checkDuration,
  checkName,
  checkOptions,
  checkTimeout,
} from '../../src/kernel/check.ts'

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

test('checkTimeout() takes anything above 0, and Infinity', () => {
  for (const value of [0.5, 600_000, Infinity]) assert.equal(checkTimeout('timeout', value), value)
  const expected = 'a number of milliseconds above 0, or Infinity for no limit'
  for (const value of [0, -1, Number.NaN, null]) {
    refuses(
      () => checkTimeout('timeout', value as number),
      `Option "timeout" is ${value}, expected ${expected}.`,
    )
  }
})

test('checkName() accepts non-empty strings and shows any other value', () => {
  assert.equal(checkName('name', 'parse'), 'parse')
  refuses(() => checkName('name', ''), 'Option "name" is "", expected a non-empty string.')
  refuses(() => checkName('name', 7 as never), 'Option "name" is 7, expected a non-empty string.')
  refuses(
    () => checkName('name', Object.create(null) as never),
    'Option "name" is an empty object, expected a non-empty string.',
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

test('checkOptions() knows the option names of other libraries', () => {
  const known = { retries: 1, after: 1 } as const
  const suggestionFor = (option: string): unknown => {
    try {
      checkOptions<object>({ [option]: 1 }, known)
    } catch (error) {
      return (error as { details: { suggestion?: string } }).details.suggestion
    }
    return assert.fail('it was accepted')
  }
  assert.deepEqual(['retry', 'dependsOn', 'retires'].map(suggestionFor), [
    'retries',
    'after',
    'retries',
  ])
  assert.equal(suggestionFor('parallelism'), undefined, 'there is no such option here')
})
