/** The METADATA of wheels and PKG-INFO of sdists, from the static fields of `[project]`. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { isFields, type Fields } from '../../manifest/local-range.ts'
import { normalName, parseRequirement, pythonVersion } from '../../manifest/requirement.ts'

const list = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []

const textOr = (value: unknown, otherwise: string): string =>
  typeof value === 'string' ? value : otherwise

/** Names and addresses of people, in the two fields that the format has for them. */
function people(kind: 'Author' | 'Maintainer', value: unknown): [string, string][] {
  const names: string[] = []
  const addresses: string[] = []
  for (const person of Array.isArray(value) ? (value as Fields[]) : []) {
    const { name, email } = person
    if (typeof email === 'string') {
      addresses.push(typeof name === 'string' ? `${name} <${email}>` : email)
    } else if (typeof name === 'string') names.push(name)
  }
  const fields: [string, string][] = []
  if (names.length > 0) fields.push([kind, names.join(', ')])
  if (addresses.length > 0) fields.push([`${kind}-Email`, addresses.join(', ')])
  return fields
}

function withExtra(requirement: string, extra: string): string {
  const parsed = parseRequirement(requirement)
  if (parsed === undefined || parsed.marker === '') return `${requirement}; extra == "${extra}"`
  const marker = parsed.marker.replace(/^\s*;\s*/, '')
  const { name, extras, range } = parsed
  // Before a semicolon, an address needs a space.
  const between = range.startsWith('@') ? ' ' : ''
  const start = `${name}${extras}${between}${range}${between}`
  return `${start}; (${marker}) and extra == "${extra}"`
}

const contentTypes: Readonly<Record<string, string>> = {
  '.md': 'text/markdown',
  '.rst': 'text/x-rst',
  '.txt': 'text/plain',
}

/** Files that `[project]` names. */
export function readmeFile(project: Fields): string | undefined {
  const { readme } = project
  if (typeof readme === 'string') return readme
  return isFields(readme) && typeof readme['file'] === 'string' ? readme['file'] : undefined
}

async function description(project: Fields, folder: string): Promise<[string, string]> {
  const file = readmeFile(project)
  const { readme } = project
  const table = isFields(readme) ? readme : {}
  const byName = contentTypes[path.extname(file ?? '').toLowerCase()] ?? 'text/plain'
  const text =
    file === undefined ? textOr(table['text'], '') : await readFile(path.join(folder, file), 'utf8')
  return [textOr(table['content-type'], byName), text.replaceAll('\r\n', '\n')]
}

/** A field may go over several lines, each after the first indented. */
const line = ([name, value]: readonly [string, string]): string =>
  `${name}: ${value.trimEnd().replaceAll('\n', '\n        ')}\n`

export async function metadata(
  project: Fields,
  folder: string,
  licenseFiles: readonly string[],
): Promise<string> {
  const fields: [string, string][] = [
    ['Metadata-Version', '2.4'],
    ['Name', String(project['name'])],
    ['Version', pythonVersion(String(project['version']))],
  ]
  const add = (name: string, value: unknown): void => {
    if (typeof value === 'string' && value !== '') fields.push([name, value])
  }
  add('Summary', textOr(project['description'], '').replace(/\s+/g, ' '))
  add('Keywords', list(project['keywords']).join(','))
  fields.push(
    ...people('Author', project['authors']),
    ...people('Maintainer', project['maintainers']),
  )
  const { license } = project
  if (typeof license === 'string') add('License-Expression', license)
  else if (isFields(license)) {
    const file = license['file']
    const text = typeof file === 'string' ? await readFile(path.join(folder, file), 'utf8') : ''
    add('License', textOr(license['text'], text))
  }
  for (const file of licenseFiles) add('License-File', file)
  for (const classifier of list(project['classifiers'])) add('Classifier', classifier)
  const { urls } = project
  for (const [label, url] of Object.entries(isFields(urls) ? urls : {})) {
    add('Project-URL', `${label}, ${String(url)}`)
  }
  add('Requires-Python', project['requires-python'])
  for (const requirement of list(project['dependencies'])) add('Requires-Dist', requirement)
  const extras = project['optional-dependencies']
  for (const [extra, requirements] of Object.entries(isFields(extras) ? extras : {})) {
    const name = normalName(extra)
    add('Provides-Extra', name)
    for (const requirement of list(requirements)) {
      add('Requires-Dist', withExtra(requirement, name))
    }
  }
  const [type, text] = await description(project, folder)
  if (text !== '') add('Description-Content-Type', type)
  return fields.map(line).join('') + (text === '' ? '' : `\n${text}`)
}

/** Programs and plugins that an installer sets up; undefined when there are none. */
export function entryPoints(project: Fields): string | undefined {
  const groups: [string, unknown][] = [
    ['console_scripts', project['scripts']],
    ['gui_scripts', project['gui-scripts']],
  ]
  const others = project['entry-points']
  if (isFields(others)) groups.push(...Object.entries(others))
  const sections = groups.flatMap(([group, points]) => {
    const lines = Object.entries(isFields(points) ? points : {}).map(
      ([k, v]) => `${k} = ${String(v)}\n`,
    )
    return lines.length === 0 ? [] : [`[${group}]\n${lines.join('')}`]
  })
  return sections.length === 0 ? undefined : sections.join('\n')
}

export interface ReadMetadata {
  readonly name: string
  readonly version: string
  readonly requires: readonly string[]
}

/** The metadata files of wheels and sdists. */
export const metadataPath: RegExp = /^[^/]+(?:\.dist-info\/METADATA|\/PKG-INFO)$/

/** What an archive says about itself. */
export function parseMetadata(text: string): ReadMetadata {
  const head = text.replaceAll('\r\n', '\n').split('\n\n')[0]!
  const all = (name: string): string[] =>
    Array.from(head.matchAll(new RegExp(`^${name}: (.*)$`, 'gim')), ([, value]) => value!)
  return {
    name: all('Name')[0] ?? '',
    version: all('Version')[0] ?? '',
    requires: all('Requires-Dist'),
  }
}
