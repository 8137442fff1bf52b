import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Event } from '../../src/ir/graph.ts'
import { Model } from '../../src/rules/program-model.ts'
import { supersededResult } from '../../src/rules/superseded-result.ts'
import { summarise } from '../../src/summaries/summary.ts'
import { programOf } from '../support/program.ts'
import { findIn, raceTests } from '../support/races.ts'

const view = (again: string): string => `export class View {
  items: string[] = []
  constructor(input: Input) {
    input.on('change', async (text: string) => {
      const items = await search(text)
      ${again}
      this.items = items
    })
  }
  get first() { return this.items[0] }
  get last() { return this.items.at(-1) }
}
`

raceTests('H205', [
  {
    name: 'a listener stores the answer of an older event over that of a newer one',
    race: view(''),
    fixed: view(`if (this.text !== text) return`),
    act: 'this.items = items',
  },
])

/** One function with many listeners, each of which stores an answer in a field of its own. */
const panel = (listeners: number): string => {
  const each = (one: (index: number) => string): string =>
    Array.from({ length: listeners }, (_, index) => one(index)).join('\n')
  return `export class Panel {
${each((index) => `  get part${index}() { return this.field${index} }`)}
${each((index) => `  get other${index}() { return this.field${index} }`)}
  listen(input: Input) {
${each((index) => `    input.on('event${index}', async () => { const answer = await ask${index}(); this.field${index} = answer })`)}
  }
}
`
}

/** How many events of graphs H205 reads. */
function eventsReadBy(listeners: number): number {
  const program = programOf({ 'panel.ts': panel(listeners) })
  const model = new Model(program, summarise(program.units))
  // Sorting the events of a function is the same for all rules: it is done before anything is counted.
  for (const host of model.hosts.suspending) void host.written.length
  let reads = 0
  for (const { graph } of program.units)
    for (const block of graph?.blocks ?? [])
      block.events = new Proxy(block.events as Event[], {
        get(events, key, receiver): unknown {
          if (typeof key === 'string' && /^\d+$/.test(key)) reads++
          return Reflect.get(events, key, receiver)
        },
      })
  assert.equal(supersededResult(model).length, listeners, 'every listener is reported')
  return reads
}

test('H205 reads the events of a function once, however many listeners are in it', () => {
  const few = eventsReadBy(20)
  const many = eventsReadBy(80)
  assert.ok(many <= few * 4.5, `${many} events for 80 listeners, ${few} for 20`)
})

test('H205 sees every check of a function that changes more than its summary holds', async () => {
  const each = (one: (index: number) => string): string =>
    Array.from({ length: 150 }, (_, index) => one(index)).join('\n')
  const found = await findIn(`export class Panel {
  listen(input: Input, given: string) {
${each((index) => `    input.on('event${index}', async () => { this.asked${index} = given; const answer = await ask${index}(); if (this.asked${index}) this.field${index} = answer })`)}
  }
}
`)
  assert.deepEqual(
    found.filter(({ rule }) => rule === 'H205').map(({ message }) => message),
    [],
  )
})
