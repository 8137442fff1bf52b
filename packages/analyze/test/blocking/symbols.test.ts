import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { SymbolResolver } from '../../src/blocking/symbols.ts'
import { Catalogue } from '../../src/models/catalogue.ts'
import { loadCatalogue } from '../../src/models/load.ts'
import type { BlockingEntry } from '../../src/models/model.ts'
import { programOf } from './program.ts'

let catalogue: Catalogue
before(async () => (catalogue = await loadCatalogue()))

/** The kinds of the calls that hold the loop. */
function kinds(text: string): readonly string[] {
  const symbols = new SymbolResolver(catalogue)
  const { units } = programOf({ 'a.ts': text })
  return units.flatMap(({ calls }) =>
    calls.flatMap((call) => symbols.blockingEntryOf(call)?.kind ?? []),
  )
}

test('a method is known by its name and the type of its object', () => {
  assert.deepEqual(kinds(`const list = []; list.sort(); list.unheardOf()`), ['sort'])
})

test('for some types every method is known, whatever its name', () => {
  const text = `import { AdmZip } from 'adm-zip'
    const zip = new AdmZip()
    zip.unheardOf()
    const map = new Map()
    map.unheardOf()`
  assert.deepEqual(kinds(text), ['sync-compression'])
})

test('for requests and lists every method is known when a model says so', () => {
  const all = {
    names: ['*'],
    kind: 'sync-io',
    tag: 'CPU/LOOP',
    cost: 'per-byte',
    alternative: 'none',
  } as const
  const own = new Catalogue([
    {
      version: 1,
      about: 'test',
      entries: [{ module: 'global', type: 'Request', ...all }],
    },
  ])
  const { units } = programOf({
    'a.ts': `import express from 'express'
      express().get('/', (req, res) => { res.end(req.renderAll(req.body)) })`,
  })
  const symbols = new SymbolResolver(own)
  const found = units.flatMap(({ calls }) =>
    calls.filter((call) => symbols.blockingEntryOf(call) !== undefined).map(({ name }) => name),
  )
  assert.deepEqual(found, ['renderAll'])
})

test('no call that a model knows is passed over because of its name', () => {
  const modules = fc.constantFrom('a', 'b')
  const types = fc.constantFrom(undefined, 'T', 'U')
  const patterns = fc.constantFrom('x', 'xSync', '*', '*Sync', 'x*', 'x*c')
  const entries = fc.record({ module: modules, type: types, names: fc.array(patterns) })
  const names = fc.constantFrom('x', 'y', 'xSync', 'ySync', 'xc', 'xyc')
  fc.assert(
    fc.property(fc.array(entries), modules, types, names, (all, module, type, name) => {
      const made = new Catalogue([
        {
          version: 1,
          about: 'test',
          entries: all.map(({ type: owner, ...one }): BlockingEntry => ({
            ...one,
            ...(owner !== undefined && { type: owner }),
            kind: 'sync-io',
            tag: 'LOOP',
            cost: 'disk',
            alternative: '',
          })),
        },
      ])
      const isKnown = made.blocking({ module, type, name }) !== undefined
      if (isKnown) assert.ok(made.mayBlock(name) || made.blocksAlways(module, type))
    }),
  )
})
