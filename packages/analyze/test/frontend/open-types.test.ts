/** One suite for every compiler: they must tell the same about the same text. */
import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openTypes } from '../../src/frontend/open-types.ts'
import { findCompilers, type FoundCompiler } from '../../src/frontend/types/find-compiler.ts'
import type { SymbolFacts, TypeSource } from '../../src/frontend/types.ts'
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

/** The same class with its methods in one that it extends. */
const inherited = (text: string): string =>
  text.replace('export class Lock {', 'export class Lock extends Held {}\nclass Held {')

interface Asking {
  readonly types: TypeSource
  readonly problems: string[]
  readonly root: string
  /** What the name means at the first place where a text is. */
  readonly at: (file: string, text: string) => SymbolFacts | undefined
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
  const at = (file: string, text: string): SymbolFacts | undefined => {
    const position = String(all[file]).indexOf(text)
    assert.ok(position >= 0, `${text} is not in ${file}`)
    return types.symbolsAt(path.join(root, file), [position])[0]
  }
  return { types, problems, root, at }
}

for (const compiler of [seven, six]) {
  const { kind } = compiler

  test(`${kind}: names, containers and origins`, (t) => {
    const { at, root, problems } = asking(t, [compiler])
    const lock = path.join(root, 'lock.ts')
    assert.deepEqual(at('main.ts', 'acquire'), {
      name: 'acquire',
      container: 'Lock',
      origin: { kind: 'program', file: lock },
    })
    assert.deepEqual(at('lock.ts', '#held = true'), {
      name: '#held',
      container: 'Lock',
      origin: { kind: 'program', file: lock },
    })
    assert.deepEqual(at('main.ts', 'set('), {
      name: 'set',
      container: 'Map',
      origin: { kind: 'language' },
    })
    assert.deepEqual(at('main.ts', "readFile('a')"), {
      name: 'readFile',
      origin: { kind: 'node', module: 'fs/promises' },
    })
    assert.deepEqual(at('main.ts', 'plain()'), {
      name: 'plain',
      origin: { kind: 'program', file: lock },
    })
    assert.deepEqual(problems, [])
  })

  test(`${kind}: names that people gave, through aliases`, (t) => {
    const { at, root } = asking(t, [compiler])
    const origin = { kind: 'program', file: path.join(root, 'lock.ts') }
    assert.deepEqual(at('main.ts', 'Guard()'), { name: 'Lock', origin })
    assert.deepEqual(at('main.ts', 'open)'), { name: 'open', origin })
  })

  test(`${kind}: nothing is known about any`, (t) => {
    const { at } = asking(t, [compiler])
    assert.equal(at('main.ts', 'anything'), undefined)
  })

  test(`${kind}: a byte order mark and wide characters do not move positions`, (t) => {
    const files = {
      'tsconfig.json': tsconfig,
      'a.ts': "\uFEFF/* é😀 */ const s = '😀'; const m = new Map<string, number>(); m.clear()",
    }
    const { types, root } = asking(t, [compiler], files)
    const position = files['a.ts'].slice(1).indexOf('clear')
    const [symbol] = types.symbolsAt(path.join(root, 'a.ts'), [position])
    assert.equal(symbol?.name, 'clear')
  })

  test(`${kind}: without a tsconfig, and with one that is broken, files still have types`, (t) => {
    const text = 'const m = new Map(); m.clear()'
    const alone = asking(t, [compiler], { 'a.ts': text })
    assert.equal(alone.at('a.ts', 'clear')?.container, 'Map')
    const broken = asking(t, [compiler], { 'a.ts': text, 'tsconfig.json': '{ "compilerOptions": ' })
    assert.equal(broken.at('a.ts', 'clear')?.container, 'Map')
  })

  test(`${kind}: changed files are checked with their new text`, (t) => {
    const { types, root, at } = asking(t, [compiler])
    assert.equal(at('main.ts', 'acquire')?.container, 'Lock')
    const changed = inherited(program['lock.ts'])
    writeFiles(root, { 'lock.ts': changed })
    types.update(new Map([[path.join(root, 'lock.ts'), changed]]))
    assert.equal(at('main.ts', 'acquire')?.container, 'Held')
  })

  test(`${kind}: text that is newer than the disk wins, also for a file that is not there`, (t) => {
    const { types, root, at } = asking(t, [compiler], program, {
      'snippet.ts': "import { Lock, plain } from './lock.js'\nplain()\nnew Lock().acquire()",
    })
    assert.equal(at('snippet.ts', 'plain()')?.name, 'plain')
    const unsaved = inherited(program['lock.ts'])
    types.update(new Map([[path.join(root, 'lock.ts'), unsaved]]))
    assert.equal(at('snippet.ts', 'acquire')?.container, 'Held')
    assert.equal(at('main.ts', 'acquire')?.container, 'Held')
  })

  test(`${kind}: questions about nothing have no answers`, (t) => {
    const { types, root } = asking(t, [compiler])
    assert.deepEqual(types.symbolsAt(path.join(root, 'main.ts'), []), [])
    assert.deepEqual(types.symbolsAt(path.join(root, 'gone.ts'), [0]), [undefined])
    const [symbol] = types.symbolsAt(path.join(root, 'main.ts'), [1_000_000])
    assert.equal(symbol, undefined)
  })
}

function failing(load: () => unknown): FoundCompiler {
  return { version: '9.9.9', folder: '/nowhere', kind: 'typescript-6', load }
}

test('a compiler that cannot be loaded is reported, and the next one answers', (t) => {
  const broken = failing(() => {
    throw new Error('damaged')
  })
  const { types, problems, at } = asking(t, [broken, six])
  assert.equal(types.kind, 'typescript-6')
  assert.equal(at('main.ts', 'acquire')?.container, 'Lock')
  assert.deepEqual(problems, ['TypeScript 9.9.9 in /nowhere cannot be used: damaged'])
})

test('a compiler that crashes is reported once, and the next one answers the same question', (t) => {
  const crashing = failing(() => ({
    sys: {},
    readConfigFile: () => {
      throw new Error('stack overflow in the checker')
    },
  }))
  const { types, problems, at } = asking(t, [crashing, seven])
  assert.equal(at('main.ts', 'acquire')?.container, 'Lock')
  assert.equal(types.kind, 'typescript-7')
  assert.deepEqual(problems, ['The compiler (typescript-6) failed: stack overflow in the checker'])
})

test('without a compiler nothing is known, and that is reported', (t) => {
  const { types, problems, at } = asking(t, [])
  assert.equal(types.kind, 'none')
  assert.equal(at('main.ts', 'acquire'), undefined)
  assert.deepEqual(problems, ['No compiler is installed: types are not used.'])
})
