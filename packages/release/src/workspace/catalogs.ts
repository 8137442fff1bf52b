import { isFields } from '../manifest/local-range.ts'
import type { Document } from './documents.ts'
import type { Problems } from './workspace-problems.ts'

export type Catalogs = ReadonlyMap<string, ReadonlyMap<string, string>>

export interface CatalogSources {
  readonly packageJson: Document | undefined
  /** pnpm-workspace.yaml */
  readonly pnpm: Document | undefined
  /** .yarnrc.yml */
  readonly yarn: Document | undefined
}

/**
 * What `catalog:` and `catalog:name` mean. pnpm and Yarn have them in their settings, Bun in
 * package.json, inside of `workspaces` or beside it. The unnamed one is called `default`.
 */
export function readCatalogs(sources: CatalogSources, problems: Problems): Catalogs {
  const found = new Map<string, Map<string, string>>()
  const { packageJson, pnpm, yarn } = sources
  const places: (readonly [Document | undefined, readonly string[]])[] = [
    [pnpm, []],
    [yarn, []],
    [packageJson, []],
    [packageJson, ['workspaces']],
  ]
  for (const [document, above] of places) {
    if (document === undefined) continue
    const fields = above.reduce<unknown>(
      (value, key) => (isFields(value) ? value[key] : undefined),
      document.fields,
    )
    if (!isFields(fields)) continue
    const { catalog, catalogs } = fields
    if (catalog !== undefined)
      add(found, 'default', catalog, document, [...above, 'catalog'], problems)
    if (!isFields(catalogs)) continue
    for (const [name, entries] of Object.entries(catalogs)) {
      add(found, name, entries, document, [...above, 'catalogs', name], problems)
    }
  }
  return found
}

function add(
  found: Map<string, Map<string, string>>,
  name: string,
  entries: unknown,
  document: Document,
  keys: readonly string[],
  problems: Problems,
): void {
  const refuse = (problem: string, todo: string, ...more: readonly string[]): void => {
    problems.add({ file: document.file, line: document.lineOf(...keys, ...more), problem, todo })
  }
  if (!isFields(entries)) {
    refuse(
      `\`${keys.join('.')}\` is not a table of ranges`,
      'Write names on the left and ranges on the right.',
    )
    return
  }
  if (found.has(name)) {
    refuse(
      `the catalog "${name}" is defined twice`,
      'Keep one of the definitions: tools disagree on which one counts.',
    )
    return
  }
  const ranges = new Map<string, string>()
  for (const [dependency, range] of Object.entries(entries)) {
    if (typeof range === 'string') ranges.set(dependency, range)
    else refuse(`the range of "${dependency}" is not a string`, 'Put it in quotes.', dependency)
  }
  found.set(name, ranges)
}
