import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anonymous } from '../../src/http/caller.ts'
import { chosenName, maySee, nameIn, tenantsOf } from '../../src/http/tenancy.ts'

const bound = (tenant: string) => ({ ...anonymous, tenant, roles: ['operator'] as const })

test('N1: a caller sees things of its own tenant, an admin things of any tenant', () => {
  assert.equal(maySee(bound('acme'), 'acme'), true)
  assert.equal(maySee(bound('acme'), 'brook'), false)
  assert.equal(maySee(bound('acme')), false)
  assert.equal(maySee(bound('default')), true)
  assert.equal(maySee({ ...bound('acme'), roles: ['admin'] }, 'brook'), true)
  assert.equal(tenantsOf(bound('acme')), 'acme')
})

test('N3: no two names of tenants are stored as one, and each name is read back unchanged', () => {
  const word = fc.oneof(
    fc.string({ minLength: 1 }),
    fc
      .array(fc.constantFrom('@', ':', '%', 'a', 'default'), { minLength: 1 })
      .map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(word, word, word, word, (tenant, name, otherTenant, otherName) => {
      const kept = nameIn(tenant, name)
      assert.equal(chosenName(kept), name)
      const isSame = tenant === otherTenant && name === otherName
      assert.equal(kept === nameIn(otherTenant, otherName), isSame)
    }),
  )
})

test('N3: names of the common tenant are unchanged', () => {
  assert.equal(nameIn('default', 'nightly'), 'nightly')
  assert.equal(nameIn(undefined, 'nightly'), 'nightly')
  assert.equal(nameIn('acme', 'nightly'), '@acme:nightly')
})
