import assert from 'node:assert/strict'
import { test } from 'node:test'
import { programOf, unitNamed } from '../support/program.ts'

function targetsIn(files: Readonly<Record<string, string>>, caller: string): string[] {
  const unit = unitNamed(programOf(files), caller)
  return unit.calls.flatMap((site) => site.targets.map((target) => target.name))
}

test('calls are resolved through imports, re-exports and namespaces', () => {
  const files = {
    'a.ts': `export function load() {}\nexport default class Store { static open() {} get() {} }`,
    'b.ts': `export { load as read } from './a.ts'\nexport * from './c.ts'`,
    'c.ts': `export const save = async () => {}`,
    'd.ts': `import { read, save } from './b.ts'\nimport * as all from './b.ts'\nimport Store from './a.ts'
export function main() { read(); save(); all.save(); Store.open(); new Store() }`,
  }
  assert.deepEqual(targetsIn(files, 'main'), ['load', 'save', 'save', 'Store.open'])
})

test('calls are resolved through CommonJS', () => {
  const files = {
    'a.js': `exports.load = function () {}\nmodule.exports.save = () => {}`,
    'b.js': `const { load } = require('./a')\nconst all = require('./a')\nexports.main = function () { load(); all.save() }`,
  }
  assert.deepEqual(targetsIn(files, 'main'), ['load', 'save'])
})

test('methods are found on the class, its base and its subclasses', () => {
  const files = {
    'a.ts': `class Base { run() { this.step() } step() {} }
class Left extends Base { step() {} }
class Right extends Left { go() { super.step(); this.run() } }`,
  }
  assert.deepEqual(targetsIn(files, 'Base.run'), ['Base.step', 'Left.step'])
  assert.deepEqual(targetsIn(files, 'Right.go'), ['Left.step', 'Base.run'])
})

test('methods are found on the class that a field was constructed from or declared as', () => {
  const files = {
    'a.ts': `export class Store { put() {} }\nexport class Index { find() {} }`,
    'b.ts': `import { Store } from './a.ts'
class App {
  index: Index
  constructor(private other: Store) { this.store = new Store() }
  run() { this.store.put(); this.index.find(); this.other.put() }
}`,
  }
  assert.deepEqual(targetsIn(files, 'App.run'), ['Store.put', 'Index.find', 'Store.put'])
})

test('a method name that one class has is a guess, and marked', () => {
  const files = {
    'a.ts': `class A { persistEverything() {} }\nfunction go(x) { x.persistEverything() }`,
  }
  const unit = unitNamed(programOf(files), 'go')
  assert.equal(unit.calls[0]?.isGuess, true)
  assert.deepEqual(targetsIn(files, 'go'), ['A.persistEverything'])
})

test('a name from outside of the program is an external symbol', () => {
  const files = {
    'a.ts': `import fs, { readFileSync as read } from 'node:fs'\nimport * as os from 'os'
function go() { read('x'); fs.promises.readFile('x'); os.cpus(); setTimeout(go, 1) }`,
  }
  const unit = unitNamed(programOf(files), 'go')
  assert.deepEqual(
    unit.calls.map((site) => `${site.external?.module} ${site.external?.path.join('.')}`),
    ['node:fs readFileSync', 'node:fs promises.readFile', 'os cpus', 'global setTimeout'],
  )
})

test('circular re-exports end', () => {
  const files = {
    'a.ts': `export * from './b.ts'`,
    'b.ts': `export * from './a.ts'\nexport { lost } from './a.ts'`,
    'c.ts': `import { lost } from './a.ts'\nexport function main() { lost() }`,
  }
  assert.deepEqual(targetsIn(files, 'main'), [])
})

test('state of another module is the same location', () => {
  const program = programOf({
    'a.ts': `export const cache = new Map()`,
    'b.ts': `import { cache } from './a.ts'\nexport function put(key) { cache.set(key, 1) }`,
    'c.ts': `import { cache } from './a.ts'\nexport function get(key) { return cache.get(key) }`,
  })
  const containers = ['put', 'get'].map((name) => {
    const events = unitNamed(program, name).graph!.blocks.flatMap((block) => block.events)
    const access = events.find((event) => event.op === 'read' || event.op === 'write')
    return access !== undefined && 'location' in access ? access.location.canonical : undefined
  })
  assert.ok(containers[0] !== undefined)
  assert.equal(containers[0], containers[1])
})

test('names that are defined by each other, or by themselves, resolve to nothing', () => {
  const files = {
    'a.js': `var a = new b()\nvar b = new a()\nvar c = new c()\nexports.d = new d.E()
var d = require('./b')\nfunction main() { a.go(); b.go(); c.go(); d.go() }`,
    'b.js': `exports.E = require('./a').d\nexports.go = require('./b').go`,
  }
  assert.deepEqual(targetsIn(files, 'main'), [])
})

test('I2 of the program: a unit is a target of a call exactly when the call is among its callers', () => {
  const { units } = programOf({
    'a.ts': `export class Base { run() { this.step() } step() {} }
export class Left extends Base { step() {} constructor() { super(); this.run() } }
export function make() { return new Left() }
export function twice(f) { f(); f() }
twice(make); make().run(); make(); make()`,
    'b.ts': `import { make, Left } from './a.ts'
const own = new Left()
export async function main() { await make(); own.step(); setTimeout(() => main(), 1) }`,
  })
  let count = 0
  for (const unit of units) {
    for (const site of unit.calls)
      for (const target of site.targets) {
        assert.ok(target.callers.includes(site), `${target.name} in ${unit.name}`)
        count += 1
      }
    for (const site of unit.callers) assert.ok(site.targets.includes(unit), unit.name)
  }
  assert.ok(count >= 8, String(count))
})

test('state outside of the process is one location, whichever file names it', () => {
  const check = (name: string, quote: string) => `import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
export async function ${name}() {
  if (!existsSync(${quote}state${quote})) await writeFile(${quote}state${quote}, '')
}`
  const { files, locations } = programOf({ 'a.ts': check('one', '"'), 'b.ts': check('two', "'") })
  const outside = locations.filter(({ scope }) => scope === 'external')
  assert.deepEqual(
    outside.map(({ file, canonical }) => [file, canonical.file, canonical.name]),
    files.map((file) => [file, files[0], 'file "state"']),
  )
})

test('units and locations are numbered in the order of the files', () => {
  const { units, locations } = programOf({
    'a.ts': `export class A { x = 0; set() { this.x = 1 } }`,
    'b.ts': `import { A } from './a.ts'\nexport class B extends A { async add() { this.x += 1; this.y = 1 } }`,
  })
  assert.deepEqual(
    units.map(({ id }) => id),
    units.map((_, at) => at),
  )
  assert.deepEqual(
    locations.map(({ id }) => id),
    locations.map((_, at) => at),
  )
})
