/** One suite for every compiler: they must tell the same facts about the same text. */
import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openTypes } from '../../src/frontend/open-types.ts'
import { findCompilers, type FoundCompiler } from '../../src/frontend/types/find-compiler.ts'
import type { TypeFacts, TypeSource } from '../../src/frontend/types.ts'
import { tempFolder, writeFiles, type Files } from '../support/temp-folder.ts'

const here = path.dirname(fileURLToPath(import.meta.url))
const [seven] = findCompilers(here, ['typescript'])
const [six] = findCompilers(here, ['typescript-6'])
assert.ok(seven?.kind === 'typescript-7' && six?.kind === 'typescript-6')

const tsconfig = JSON.stringify({
  compilerOptions: { target: 'es2024', module: 'nodenext', strict: true, types: ['node'] },
})

const program = {
  'tsconfig.json': tsconfig,
  'package.json': '{ "type": "module" }',
  'lock.ts': [
    'export default class Pool { size = 1 }',
    'export class Lock {',
    '  #held = false',
    '  async acquire(): Promise<void> { this.#held = true }',
    '  then(done: () => void): void { done() }',
    '}',
    'export const limits = { open: 1 }',
    'export function plain(): number { return 1 }',
  ].join('\n'),
  'main.ts': [
    "import { readFile } from 'node:fs/promises'",
    "import OurPool, { Lock as Guard, limits, plain } from './lock.js'",
    "const text = 'é😀'",
    'const guard = new Guard()',
    'const pool: OurPool | undefined = undefined as OurPool | undefined',
    'const users = new Map<string, Promise<number>>()',
    'async function main(input: any, maybe?: () => Promise<void>) {',
    '  await guard.acquire()',
    "  users.set('a', Promise.resolve(limits.open))",
    "  const data = await readFile('a')",
    '  input.anything()',
    '  plain()',
    '  void maybe',
    '  return pool ?? data',
    '}',
    'void main',
    'void text',
  ].join('\n'),
}

interface Asking {
  readonly types: TypeSource
  readonly problems: string[]
  readonly root: string
  /** The facts at the first place where a text is. */
  readonly at: (file: string, text: string) => TypeFacts | undefined
}

function asking(
  t: TestContext,
  compilers: readonly FoundCompiler[],
  files: Files = program,
  overlays: Files = {},
): Asking {
  const root = tempFolder(t, files)
  // The compiler looks for the types of Node from the code it checks.
  symlinkSync(path.join(here, '../../../../node_modules'), path.join(root, 'node_modules'))
  const problems: string[] = []
  const all = { ...files, ...overlays }
  const sources = Object.keys(all).filter((name) => /\.[jt]s$/.test(name))
  const types = openTypes({
    root,
    files: sources.map((name) => path.join(root, name)),
    overlays: new Map(
      Object.entries(overlays).map(([name, text]) => [path.join(root, name), String(text)]),
    ),
    onProblem: ({ message }) => problems.push(message),
    compilers,
  })
  t.after(() => types.close())
  const at = (file: string, text: string): TypeFacts | undefined => {
    const position = String(all[file]).indexOf(text)
    assert.ok(position >= 0, `${text} is not in ${file}`)
    return types.factsAt(path.join(root, file), [position])[0]
  }
  return { types, problems, root, at }
}

for (const compiler of [seven, six]) {
  const { kind } = compiler

  test(`${kind}: names, containers and origins`, (t) => {
    const { at, root, problems } = asking(t, [compiler])
    const lock = path.join(root, 'lock.ts')
    assert.deepEqual(at('main.ts', 'acquire')?.symbol, {
      name: 'acquire',
      container: 'Lock',
      origin: { kind: 'program', file: lock },
    })
    assert.deepEqual(at('lock.ts', '#held = true')?.symbol, {
      name: '#held',
      container: 'Lock',
      origin: { kind: 'program', file: lock },
    })
    assert.deepEqual(at('main.ts', 'set(')?.symbol, {
      name: 'set',
      container: 'Map',
      origin: { kind: 'language' },
    })
    assert.deepEqual(at('main.ts', "readFile('a')")?.symbol, {
      name: 'readFile',
      origin: { kind: 'node', module: 'fs/promises' },
    })
    assert.deepEqual(at('main.ts', 'plain()')?.symbol, {
      name: 'plain',
      origin: { kind: 'program', file: lock },
    })
    assert.deepEqual(problems, [])
  })

  test(`${kind}: the types of values, without undefined, by the names people gave them`, (t) => {
    const { at, root } = asking(t, [compiler])
    const lock = { kind: 'program', file: path.join(root, 'lock.ts') }
    const guard = at('main.ts', 'guard.')
    assert.equal(guard?.typeName, 'Lock')
    assert.deepEqual(guard.typeOrigin, lock)
    assert.equal(at('main.ts', 'users.')?.typeName, 'Map')
    const pool = at('main.ts', 'pool ??')
    assert.equal(pool?.typeName, 'Pool')
    assert.deepEqual(pool.typeOrigin, lock)
    assert.equal(at('main.ts', 'plain()')?.typeName, undefined)
  })

  test(`${kind}: what is thenable, and what gives it when called`, (t) => {
    const { at } = asking(t, [compiler])
    const thenable = (text: string): readonly (boolean | undefined)[] => {
      const facts = at('main.ts', text)
      return [facts?.isThenable, facts?.returnsThenable]
    }
    assert.deepEqual(thenable('guard.'), [true, false])
    assert.deepEqual(thenable('acquire'), [false, true])
    assert.deepEqual(thenable("readFile('a')"), [false, true])
    assert.deepEqual(thenable('plain()'), [false, false])
    assert.deepEqual(thenable('maybe\n'), [false, true])
    assert.deepEqual(thenable('users.'), [false, false])
  })

  test(`${kind}: nothing is known about any, and that is told`, (t) => {
    const { at } = asking(t, [compiler])
    assert.equal(at('main.ts', 'anything')?.isUnknown, true)
    assert.equal(at('main.ts', 'guard.')?.isUnknown, false)
  })

  test(`${kind}: a byte order mark and wide characters do not move positions`, (t) => {
    const files = {
      'tsconfig.json': tsconfig,
      'a.ts': "\uFEFF/* é😀 */ const s = '😀'; const m = new Map<string, number>(); m.clear()",
    }
    const { types, root } = asking(t, [compiler], files)
    const position = files['a.ts'].slice(1).indexOf('clear')
    const [facts] = types.factsAt(path.join(root, 'a.ts'), [position])
    assert.equal(facts?.symbol?.name, 'clear')
  })

  test(`${kind}: without a tsconfig, and with one that is broken, files still have types`, (t) => {
    const text = 'const m = new Map(); m.clear()'
    const alone = asking(t, [compiler], { 'a.ts': text })
    assert.equal(alone.at('a.ts', 'clear')?.symbol?.container, 'Map')
    const broken = asking(t, [compiler], { 'a.ts': text, 'tsconfig.json': '{ "compilerOptions": ' })
    assert.equal(broken.at('a.ts', 'clear')?.symbol?.container, 'Map')
  })

  test(`${kind}: files that changed are asked about as they are now`, (t) => {
    const { types, root, at } = asking(t, [compiler])
    assert.equal(at('main.ts', 'plain()')?.returnsThenable, false)
    const changed = program['lock.ts'].replace(
      'function plain(): number',
      'async function plain(): Promise<number>',
    )
    writeFiles(root, { 'lock.ts': changed })
    types.update(new Map([[path.join(root, 'lock.ts'), changed]]))
    assert.equal(at('main.ts', 'plain()')?.returnsThenable, true)
  })

  test(`${kind}: text that is newer than the disk wins, also for a file that is not there`, (t) => {
    const { types, root, at } = asking(t, [compiler], program, {
      'snippet.ts': "import { plain } from './lock.js'\nplain()",
    })
    assert.equal(at('snippet.ts', 'plain()')?.symbol?.name, 'plain')
    const unsaved = program['lock.ts'].replace(': number {', ': Promise<number> {')
    types.update(new Map([[path.join(root, 'lock.ts'), unsaved]]))
    assert.equal(at('snippet.ts', 'plain()')?.returnsThenable, true)
    assert.equal(at('main.ts', 'plain()')?.returnsThenable, true)
  })

  test(`${kind}: questions about nothing have no answers`, (t) => {
    const { types, root } = asking(t, [compiler])
    assert.deepEqual(types.factsAt(path.join(root, 'main.ts'), []), [])
    assert.deepEqual(types.factsAt(path.join(root, 'gone.ts'), [0]), [undefined])
    const [facts] = types.factsAt(path.join(root, 'main.ts'), [1_000_000])
    assert.equal(facts?.symbol, undefined)
  })
}

function failing(load: () => unknown): FoundCompiler {
  return { version: '9.9.9', folder: '/nowhere', kind: 'typescript-6', load }
}

test('a compiler that cannot be loaded is told, and the next one answers', (t) => {
  const broken = failing(() => {
    throw new Error('damaged')
  })
  const { types, problems, at } = asking(t, [broken, six])
  assert.equal(types.kind, 'typescript-6')
  assert.equal(at('main.ts', 'acquire')?.returnsThenable, true)
  assert.deepEqual(problems, ['TypeScript 9.9.9 in /nowhere cannot be used: damaged'])
})

test('a compiler that crashes is told once, and the next one answers the same question', (t) => {
  const crashing = failing(() => ({
    sys: {},
    readConfigFile: () => {
      throw new Error('stack overflow in the checker')
    },
  }))
  const { types, problems, at } = asking(t, [crashing, seven])
  assert.equal(at('main.ts', 'acquire')?.returnsThenable, true)
  assert.equal(types.kind, 'typescript-7')
  assert.deepEqual(problems, ['The compiler (typescript-6) failed: stack overflow in the checker'])
})

test('without a compiler nothing is known, and that is told', (t) => {
  const { types, problems, at } = asking(t, [])
  assert.equal(types.kind, 'none')
  assert.equal(at('main.ts', 'acquire'), undefined)
  assert.deepEqual(problems, ['No compiler is installed: types are not used.'])
})
