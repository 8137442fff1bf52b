import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Catalogue, moduleName } from '../../src/models/catalogue.ts'
import type { ModelEntry } from '../../src/models/model.ts'

const blocking = (fields: Partial<ModelEntry>): ModelEntry =>
  ({
    kind: 'sync-io',
    tag: 'CPU/LOOP',
    cost: 'disk',
    alternative: 'another',
    ...fields,
  }) as ModelEntry

const catalogueOf = (...files: ModelEntry[][]): Catalogue =>
  new Catalogue(files.map((entries) => ({ version: 1, about: 'a test', entries })))

test('a name is found by its module, its type and its letters', () => {
  const catalogue = catalogueOf([
    blocking({ module: 'node:fs', names: ['*Sync'], except: ['closeSync'] }),
    blocking({ module: 'db', type: 'Database', names: ['exec'], kind: 'sync-database' }),
  ])
  assert.equal(catalogue.blocking({ module: 'node:fs', name: 'readFileSync' })?.kind, 'sync-io')
  assert.equal(catalogue.blocking({ module: 'node:fs', name: 'closeSync' }), undefined)
  assert.equal(catalogue.blocking({ module: 'node:fs', name: 'readFile' }), undefined)
  assert.equal(catalogue.blocking({ module: 'db', name: 'exec' }), undefined)
  assert.equal(
    catalogue.blocking({ module: 'db', type: 'Database', name: 'exec' })?.kind,
    'sync-database',
  )
})

test('I1: the first file wins', () => {
  const catalogue = catalogueOf(
    [blocking({ module: 'x', names: ['run'], kind: 'media' })],
    [blocking({ module: 'x', names: ['run'], kind: 'render' })],
  )
  assert.equal(catalogue.blocking({ module: 'x', name: 'run' })?.kind, 'media')
})

test('I2: a name wins over a pattern', () => {
  const catalogue = catalogueOf([
    blocking({ module: 'x', names: ['run*'], kind: 'media' }),
    blocking({ module: 'x', names: ['runAll'], kind: 'render' }),
  ])
  assert.equal(catalogue.blocking({ module: 'x', name: 'runAll' })?.kind, 'render')
})

test('sources are found by property, event and call', () => {
  const catalogue = catalogueOf([
    { kind: 'source', gives: 'request body', property: ['body'], of: ['req'] },
    { kind: 'source', gives: 'message', event: ['data'] },
    { kind: 'source', gives: 'file', module: 'node:fs', names: ['readFile'] },
  ])
  assert.equal(catalogue.sourceProperty('req', 'body')?.gives, 'request body')
  assert.equal(catalogue.sourceProperty('res', 'body'), undefined)
  assert.equal(catalogue.sourceEvent('data', 'stream')?.gives, 'message')
  assert.equal(catalogue.source({ module: 'node:fs', name: 'readFile' })?.gives, 'file')
})

test('modules of Node have one name', () => {
  assert.equal(moduleName('fs/promises'), 'node:fs/promises')
  assert.equal(moduleName('node:fs'), 'node:fs')
  assert.equal(moduleName('lodash'), 'lodash')
})
