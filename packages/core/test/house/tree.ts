/** The files of the repository, for tests that keep the house in order. */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

export const root: string = path.resolve(import.meta.dirname, '../../../..')

/** Paths from the root, with `/` on every system. */
export function files(...patterns: readonly string[]): string[] {
  return globSync(patterns, {
    cwd: root,
    exclude: (name) => /(^|[/\\])(node_modules|dist|\.[^/\\]+)$/.test(name),
  })
    .map((file) => file.split(path.sep).join('/'))
    .toSorted()
}

export function read(file: string): string {
  return readFileSync(path.join(root, file), 'utf8')
}

/** The code of a file: comments and the contents of strings are blanked, lines stay where they are. */
export function codeOf(file: string): string {
  const ignored =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`/g
  return read(file).replace(ignored, (text) => text.replace(/[^\n]/g, ' '))
}

/** The tiers of the public surface, by the name of their entry file. */
export const tiers = ['index', 'lowlevel', 'testing'] as const
export type Tier = (typeof tiers)[number]

export interface Exported {
  readonly name: string
  readonly isType: boolean
  /** The file it comes from, from the root. */
  readonly from: string
}

/** What an entry file exports, read from its text: types are not there at run time. */
export function exportsOf(tier: Tier): Exported[] {
  const found: Exported[] = []
  const blocks = read(`packages/core/src/${tier}.ts`).matchAll(
    /^export (type )?\{([^}]*)\} from '\.\/([^']+)'/gm,
  )
  for (const [, allTypes, list, from] of blocks) {
    for (const entry of list!.replace(/\/\/[^\n]*/g, '').split(',')) {
      const [, type, name] = /^\s*(type )?(?:\w+ as )?(\w+)\s*$/.exec(entry) ?? []
      if (name === undefined) continue
      const isType = allTypes !== undefined || type !== undefined
      found.push({ name, isType, from: `packages/core/src/${from}` })
    }
  }
  return found
}
