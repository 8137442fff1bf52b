/**
 * Runs the examples of the documentation: `@example` blocks of TSDoc, and Markdown fences that start
 * with ```` ```ts run ````. An example that does not run is a promise that does not hold.
 *
 * - Public names of `@heddle/core` need no import, and neither do the stand-ins of doctest-names.ts.
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
  readonly where: string
  readonly code: string
}

export function tsdocExamples(): Example[] {
  return files('packages/*/src/**/*.ts').flatMap((file) => {
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

function at(file: string, offset: number): string {
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

/** Imports for the known names that the code uses and does not declare itself. */
function importsFor(code: string, number: number): string {
  const declared = new Set(
    Array.from(
      code.matchAll(/\b(?:const|let|var|using|function|class|type|interface)\s+(\w+)/g),
      ([, name]) => name!,
    ),
  )
  for (const [, list] of code.matchAll(/\b(?:import|const|let)\s+(?:type\s+)?\{([^}]*)\}/g)) {
    for (const name of list!.split(/[,:]|\bas\b/)) declared.add(name.trim())
  }
  const used = new Set(code.match(/(?<![.\w$])[A-Za-z_$][\w$]*/g))
  const wanted = (name: string): boolean => used.has(name) && !declared.has(name)
  const lines = tiers.map((tier) => {
    const names = exportsOf(tier).filter(({ name, isType }) => !isType && wanted(name))
    const specifier = tier === 'index' ? '@heddle/core' : `@heddle/core/${tier}`
    return `import { ${names.map(({ name }) => name).join(', ')} } from '${specifier}'`
  })
  const known = Object.keys(standIns).filter(wanted).join(', ')
  const standInFile = pathToFileURL(path.join(import.meta.dirname, 'doctest-names.ts')).href
  // With a number of its own the module is loaded anew: no example sees what another one left.
  return [...lines, `import { ${known} } from '${standInFile}?${number}'`].join('\n')
}

export class Doctests {
  // Below the checkout, where the packages can be imported by name; a real file, which a thread can load.
  readonly #folder = mkdtempSync(path.join(root, '.doctest-'))
  #count = 0

  constructor() {
    // What an example writes, it writes there.
    process.chdir(this.#folder)
  }

  async run({ code }: Example): Promise<void> {
    const number = this.#count++
    const file = path.join(this.#folder, `example-${number}.ts`)
    const checked = withChecks(code)
    writeFileSync(
      file,
      `import $assert from 'node:assert/strict'\n${importsFor(checked, number)}\n${checked}\nexport {}\n`,
    )
    const mustThrow = code.trim().split('\n').at(-1)?.startsWith('throw ')
    const outcome = await import(pathToFileURL(file).href).then(
      () => undefined,
      (error: unknown) => ({ error }),
    )
    if (mustThrow === true && outcome === undefined)
      throw new Error('The example ends without throwing')
    if (mustThrow !== true && outcome !== undefined) throw outcome.error
  }

  [Symbol.dispose](): void {
    process.chdir(root)
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
