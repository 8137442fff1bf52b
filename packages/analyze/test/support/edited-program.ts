/** Programs of several files that use each other, and edits of them, for property tests. */
import fc from 'fast-check'

/** The kind of one piece of a file, with a number for its names and the file and the piece it uses. */
export interface Piece {
  readonly kind: keyof typeof pieces
  readonly name: number
  readonly file: number
  readonly other: number
}

export type Sources = ReadonlyMap<string, readonly Piece[]>

export type Edit =
  | { readonly op: 'put'; readonly file: number; readonly at: number; readonly piece: Piece }
  | { readonly op: 'cut'; readonly file: number; readonly at: number }
  | { readonly op: 'remove' | 'rename'; readonly file: number }
  | { readonly op: 'none' }

const names = ['a.ts', 'b.ts', 'c.js', 'lib/d.ts', 'lib/index.ts'] as const
const renamed = ['z.ts', 'a0.ts', 'lib/a.ts'] as const

/** Each piece decides something in one file for another. */
const pieces = {
  class: (n, o) => `export class Class${n} {
  session
  cache = new Map()
  async load${n}() {
    if (this.session === undefined) this.session = await this.open(${o})
    return this.session
  }
  async open(key) {
    if (!this.cache.has(key)) this.cache.set(key, await fetch(key))
    return this.cache.get(key)
  }
  close() { this.session = undefined }
}`,
  subclass: (n, o, from) => `import { Class${o} as Base${n} } from '${from}'
export class Class${n} extends Base${n} {
  async reload() {
    this.session = undefined
    this.session = await super.open(1)
  }
  open(key) { return key }
  readNow${n}() { return this.open(${n}) }
  listen() { emitter.on('close', this.close).then(this.load${o}) }
}`,
  field: (n, o, from) => `import { Class${o} as Held${n} } from '${from}'
export class Owner${n} {
  held = new Held${n}()
  async refresh() {
    if (this.held.session) return
    const made = await this.held.load${o}()
    this.held.session = made
    this.held.cache.set('one', made)
  }
}`,
  guess: (n, o) => `export async function guess${n}(thing) {
  const found = await thing.readNow${o}()
  thing.load${o}()
  return found
}`,
  state: (n) => `export let state${n} = 0
export const entries${n} = new Map()
export function bump${n}() { state${n} += 1 }`,
  useState: (n, o, from) => `import { entries${o} as used${n}, bump${o} as more${n} } from '${from}'
export async function fill${n}(key) {
  if (used${n}.has(key)) return used${n}.get(key)
  const made = await run${n}(key)
  used${n}.set(key, made)
  more${n}()
  return made
}
function run${n}(key) { return key }`,
  waits: (n) => `export async function work${n}() { await null; return ${n} }`,
  waitsNot: (n) => `export function work${n}() { return ${n} }`,
  passesOn: (n, o, from) => `import { work${o} as inner${n} } from '${from}'
let last${n}
export function pass${n}() { return inner${n}() }
export async function keep${n}() {
  if (last${n} === undefined) last${n} = await pass${n}()
  return last${n}
}`,
  listener: (
    n,
    o,
    from,
  ) => `import { work${o} as handler${n}, fill${o} as filler${n} } from '${from}'
emitter.on('change', handler${n})
setInterval(filler${n}, 100)
app.get('/x', async (req, res) => { res.send(await filler${n}(req.id)) })`,
  again: (n, o, from) => `export * from '${from}'
export { work${o} as again${n}, entries${o} } from '${from}'`,
  namespace: (n, o, from) => `import * as all${n} from '${from}'
export const same${n} = () => all${n}.work${o}()
export async function made${n}() { const it = new all${n}.Class${o}(); return it.load${o}() }`,
  whole: (n) =>
    `export default { async start() { this.on = await this.look(${n}) }, look(key) { return key } }`,
  useWhole: (n, _, from) => `import whole${n} from '${from}'
export { whole${n} }
export const begin${n} = () => whole${n}.start()`,
  local: (n, o, from) => `import { Class${o} as Shown${n} } from '${from}'
export { Shown${n} }
class Inner${n} extends Shown${n} { async inside() { this.session = await this.load${o}() } }
export const one${n} = new Inner${n}()`,
  files: (n, o) => `import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
export async function write${n}() {
  if (!existsSync('file${o}')) await writeFile("file${o}", 'x')
  return readFileSync('file${o}')
}`,
  store: (n, o) => `export async function count${n}(store) {
  const row = await users.findOne({ id: ${o} })
  if (!row) await users.insertOne({ id: ${o} })
  await store.set('k', (await store.get('k')) + 1)
}`,
  guard: (n, o, from) => `import { entries${o} as locked${n} } from '${from}'
let total${n} = 0
export async function add${n}(key) {
  await withTenantLock(key, async () => {
    const before = total${n}
    await locked${n}.get(key)
    total${n} = before + 1
  })
}`,
  required: (n, o, from) => `const lib${n} = require('${from}')
exports.call${n} = async function () {
  if (!exports.ready) exports.ready = await lib${n}.work${o}()
  return lib${n}.fill${o}('x')
}`,
  prototype: (n, o) => `function Old${n}() { this.items = [] }
Old${n}.prototype.load${o} = function () { return work${o}().then((found) => { this.items = found }) }
module.exports = Old${n}`,
  serial: (n) => `let turn${n} = 0
/** @serial */
export async function step${n}() { const now = turn${n}; await null; turn${n} = now + 1 }`,
  broken: (n) => `export function half${n}( {`,
} satisfies Record<string, (n: number, o: number, from: string) => string>

/** Few numbers, so that names of different files meet: mostly a numbered name is in the file of that number. */
const number = fc.integer({ min: 0, max: 1 })
const place = fc.integer({ min: 0, max: 7 })

const anyKind = fc.constantFrom(...(Object.keys(pieces) as (keyof typeof pieces)[]))

const piece: fc.Arbitrary<Piece> = fc
  .record({
    kind: anyKind,
    name: number,
    other: number,
    elsewhere: place,
    isElsewhere: place.map((n) => n === 0),
  })
  .map(({ elsewhere, isElsewhere, ...one }) => ({
    ...one,
    file: isElsewhere ? elsewhere : one.other,
  }))

export const sources: fc.Arbitrary<Sources> = fc
  .array(fc.array(piece, { maxLength: 5 }), { minLength: 2, maxLength: names.length })
  .map((files) => new Map(files.map((of, at) => [names[at]!, [...shown(at), ...of]])))

/** What the pieces of others use. */
function shown(at: number): readonly Piece[] {
  const all = (['class', 'state', 'waits', 'useState'] as const).map((of) => ({
    kind: of,
    name: at,
    file: 1 - at,
    other: 1 - at,
  }))
  return at < 2 ? all : []
}

export const edit: fc.Arbitrary<Edit> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ op: fc.constant('put'), file: place, at: place, piece }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('cut'), file: place, at: place }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constantFrom('remove', 'rename'), file: place }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('none') }) },
)

export function edited(before: Sources, one: Edit): Sources {
  const after = new Map(before)
  if (one.op === 'none') return after
  const name = [...names, ...renamed][one.file]!
  const old = after.get(name) ?? []
  switch (one.op) {
    case 'put':
      return after.set(name, old.toSpliced(one.at, one.at % 2, one.piece))
    case 'cut':
      return after.set(name, old.toSpliced(one.at % (old.length + 1), 1))
    case 'remove':
      after.delete(name)
      return after
    case 'rename':
      after.delete(name)
      return after.set(renamed[one.file % renamed.length]!, old)
  }
}

/** The texts of the files, by name. */
export function textsOf(program: Sources): ReadonlyMap<string, string> {
  return new Map([...program].map(([file, all]) => [file, textOf(file, all)]))
}

function textOf(file: string, all: readonly Piece[]): string {
  const up = file.includes('/') ? '..' : '.'
  return all
    .map(({ kind, name, file: at, other }) =>
      pieces[kind](name, other, `${up}/${[...names, ...renamed][at]!}`),
    )
    .join('\n')
}
