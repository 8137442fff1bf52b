/**
 * Runs the examples of the documentation: `@example` blocks of TSDoc in this package, and Markdown
 * fences that start with ```` ```ts run ````. An example that does not run is a promise that does not
 * hold. Examples of the other packages start servers and publish things; their tests do the same.
 *
 * - Public names of `@heddle/core`, the exports of the example's file, and the stand-ins of
 *   doctest-names.ts need no import.
 * - `expression // => value` checks the value.
 * - An example that ends with a `throw` must throw.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import * as standIns from './doctest-names.ts'
import { exportsOf, files, read, root, tiers } from './tree.ts'

export interface Example {
  /** File and line: the name of its test. */
  readonly where: `${string}:${number}`
  readonly code: string
}

export function tsdocExamples(): Example[] {
  return files('packages/core/src/**/*.ts').flatMap((file) => {
    const examples: Example[] = []
    for (const comment of read(file).matchAll(/^ *\/\*\*\n[\s\S]*?\*\//gm)) {
      const text = comment[0].replace(/^ *\*\/$/m, '').replace(/^ *(\/\*\*| \* ?)/gm, '')
      for (const tag of text.matchAll(/^@example.*\n([\s\S]*?)(?=^@\w+|(?![\s\S]))/gm)) {
        const fence = /```ts\n([\s\S]*?)```/.exec(tag[1]!)
        const offset = comment.index + comment[0].indexOf('@example')
        examples.push({ where: at(file, offset), code: fence?.[1] ?? tag[1]! })
      }
    }
    return examples
  })
}

export function markdownExamples(): Example[] {
  return files('*.md', 'docs/**/*.md', 'packages/*/*.md', 'examples/**/*.md').flatMap((file) =>
    Array.from(read(file).matchAll(/^```ts run\n([\s\S]*?)^```$/gm), (fence) => ({
      where: at(file, fence.index),
      code: fence[1]!,
    })),
  )
}

function at(file: string, offset: number): Example['where'] {
  return `${file}:${read(file).slice(0, offset).split('\n').length}`
}

/** `value // => expected` becomes a check; a declaration is checked by its name. */
function withChecks(code: string): string {
  return code.replace(/^( *)(.*?);? *\/\/ => (.+)$/gm, (_line, indent, statement, expected) => {
    const declared = /^(?:const|let) (\w+)/.exec(statement)?.[1]
    const value = declared ?? statement
    const before = declared === undefined ? '' : `${statement};`
    return `${indent}${before}$assert.deepEqual(${value}, ${expected});`
  })
}

/** Names the code declares itself. */
function declaredIn(code: string): Set<string> {
  const names = new Set<string>()
  const single = /\b(?:const|let|var|using|function|class|type|interface)\s+(\w+)/g
  for (const [, name] of code.matchAll(single)) names.add(name!)
  for (const [, list] of code.matchAll(/\b(?:import|const|let)\s+(?:type\s+)?\{([^}]*)\}/g)) {
    for (const name of list!.split(/[,:]|\bas\b/)) names.add(name.trim())
  }
  return names
}

/** Imports for the known names that the code uses and does not declare itself. */
function importsFor(code: string, where: Example['where'], number: number): string {
  const taken = declaredIn(code)
  const used = new Set(code.match(/(?<![.\w$])[A-Za-z_$][\w$]*/g))
  const lines: string[] = []
  const offer = (specifier: string, names: readonly string[]): void => {
    const wanted = names.filter((name) => used.has(name) && !taken.has(name))
    for (const name of wanted) taken.add(name)
    if (wanted.length > 0) lines.push(`import { ${wanted.join(', ')} } from '${specifier}'`)
  }
  for (const tier of tiers) {
    const values = exportsOf(tier).filter(({ isType }) => !isType)
    const specifier = tier === 'index' ? '@heddle/core' : `@heddle/core/${tier}`
    offer(
      specifier,
      values.map(({ name }) => name),
    )
  }
  const file = where.slice(0, where.lastIndexOf(':'))
  if (file.endsWith('.ts')) {
    const own = read(file).matchAll(/^export (?:async )?(?:function\*?|class|const) (\w+)/gm)
    offer(
      url(path.join(root, file)),
      Array.from(own, ([, name]) => name!),
    )
  }
  // With a number of its own the module is loaded again: no example sees the state of another one.
  const names = url(path.join(import.meta.dirname, 'doctest-names.ts'))
  offer(`${names}?${number}`, Object.keys(standIns))
  return lines.join('\n')
}

const url = (file: string): string => pathToFileURL(file).href

export class Doctests {
  // Below the checkout, where the packages can be imported by name; a real file, which a thread can load.
  readonly #folder = mkdtempSync(path.join(root, '.doctest-'))
  #count = 0

  constructor() {
    // Also when the run is ended from outside.
    process.once('exit', () => {
      process.chdir(root)
      rmSync(this.#folder, { recursive: true, force: true })
    })
    // The files that an example reads and writes are there.
    process.chdir(this.#folder)
    writeFileSync('package.json', '{ "type": "module" }')
  }

  async run({ code, where }: Example): Promise<void> {
    const number = this.#count++
    const file = path.join(this.#folder, `example-${number}.ts`)
    const checked = withChecks(code)
    writeFileSync(
      file,
      `import $assert from 'node:assert/strict'\n${importsFor(checked, where, number)}\n${checked}\nexport {}\n`,
    )
    const mustThrow = code.trim().split('\n').at(-1)?.startsWith('throw ')
    const outcome = await import(url(file)).then(
      () => undefined,
      (error: unknown) => ({ error }),
    )
    if (mustThrow === true && outcome === undefined)
      throw new Error('The example ends without throwing')
    if (mustThrow !== true && outcome !== undefined) throw outcome.error
  }
}
