import assert from 'node:assert/strict'
import { test } from 'node:test'
import { environmentOf } from '../../../src/frontend/types/compiler-environment.ts'

test('a compiler that answers once about a program of usual size does not collect', () => {
  const user = { PATH: '/bin' }
  const quick = environmentOf(['a.ts'], false, user)
  assert.deepEqual(quick, { GOGC: 'off', GOMEMLIMIT: '1GiB', PATH: '/bin' })
  assert.deepEqual(environmentOf(['a.ts'], true, user), user, 'it is kept')
  const many = Array.from({ length: 2001 }, (_, index) => `${index}.ts`)
  assert.deepEqual(environmentOf(many, false, user), user)
  assert.equal(environmentOf(['a.ts'], false, { GOGC: '50' })['GOGC'], '50')
})
