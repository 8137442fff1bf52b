import assert from 'node:assert/strict'
import { test } from 'node:test'
import { environmentOf } from '../../../src/frontend/types/compiler-environment.ts'

const enough = 8 * 1024 ** 3
const user = { PATH: '/bin' }

test('a compiler that answers once about a program of usual size does not collect', () => {
  const quick = environmentOf(['a.ts'], false, user, enough)
  assert.deepEqual(quick, { GOGC: 'off', GOMEMLIMIT: '1GiB', PATH: '/bin' })
})

test('one that is kept, has a large program or little memory collects', () => {
  assert.deepEqual(environmentOf(['a.ts'], true, user, enough), user)
  const many = Array.from({ length: 2001 }, (_, index) => `${index}.ts`)
  assert.deepEqual(environmentOf(many, false, user, enough), user)
  assert.deepEqual(environmentOf(['a.ts'], false, user, 1024 ** 3), user)
})

test('settings of the user stay: a limit alone must not turn collecting off', () => {
  for (const own of [{ GOGC: '50' }, { GOMEMLIMIT: '200MiB' }]) {
    assert.deepEqual(environmentOf(['a.ts'], false, own, enough), own)
  }
})
