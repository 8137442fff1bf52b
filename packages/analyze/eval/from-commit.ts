/**
 * Makes cases of commits that repaired a race: which functions they changed, and at which lines.
 *
 *     node eval/from-commit.ts commits.json > cases.json
 *
 * No reader is in it: the commits were chosen by their subjects, and the places are where the repair
 * changed code of the version before it. So cases of a fold can be made without being read.
 */
import { readFileSync } from 'node:fs'
import { parseSource } from '../src/frontend/parse.ts'
import { git, packageFolderOf } from './commits.ts'
import type { CommitCase, Place } from './score.ts'

interface Chosen {
  readonly repo: string
  readonly before: string
  readonly after: string
  readonly subject: string
  readonly files: readonly (readonly [file: string, added: number, removed: number])[]
}

interface Extent {
  readonly name: string
  readonly first: number
  readonly last: number
}

interface Tree {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value

const nameOf = (key: unknown): string | undefined =>
  isTree(key) && typeof key['name'] === 'string' ? key['name'] : undefined

const isFunction = (node: Tree): boolean =>
  /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)

/** Functions with a name, those inside after those around. */
function functionsOf(file: string, text: string): Extent[] {
  const parsed = parseSource(file, text)
  const found: Extent[] = []
  const visit = (node: Tree, given: string | undefined): void => {
    if (isFunction(node)) {
      const name = nameOf(node['id']) ?? given
      if (name !== undefined)
        found.push({
          name,
          first: parsed.lineAt(node.start).line,
          last: parsed.lineAt(node.end).line,
        })
    }
    const named =
      nameOf(node['key']) ??
      (node.type === 'VariableDeclarator' ? nameOf(node['id']) : undefined) ??
      (node.type === 'AssignmentExpression' ? assignedName(node['left']) : undefined)
    for (const [key, value] of Object.entries(node)) {
      const own = key === 'value' || key === 'init' || key === 'right' ? named : undefined
      if (isTree(value)) visit(value, own)
      else if (Array.isArray(value)) for (const one of value) if (isTree(one)) visit(one, undefined)
    }
  }
  visit(parsed.program as unknown as Tree, undefined)
  return found
}

function assignedName(left: unknown): string | undefined {
  if (!isTree(left)) return undefined
  return left.type === 'MemberExpression' ? nameOf(left['property']) : nameOf(left)
}

/** Lines of the version before; of an insertion the two lines around it. */
async function changedLines(one: Chosen, file: string): Promise<[number, number][]> {
  const diff = await git(
    one.repo,
    one.after,
    'diff',
    '-U0',
    '-w',
    one.before,
    one.after,
    '--',
    file,
  )
  const ranges: [number, number][] = []
  let body: string[] = []
  let range: [number, number] | undefined
  const flush = (): void => {
    const isCode = body.some((line) => !/^[+-]\s*(?:\/\/|\/?\*|$)/.test(line))
    if (range !== undefined && isCode) ranges.push(range)
    body = []
  }
  for (const line of diff.split('\n')) {
    const head = /^@@ -(\d+)(?:,(\d+))? /.exec(line)
    if (head !== null) {
      flush()
      const start = Number(head[1])
      const count = head[2] === undefined ? 1 : Number(head[2])
      range = count === 0 ? [start, start + 1] : [start, start + count - 1]
    } else if (range !== undefined && /^[+-]/.test(line)) body.push(line)
  }
  flush()
  return ranges
}

async function placesOf(one: Chosen, folder: string): Promise<Place[]> {
  const places = new Map<string, Place & { changed: [number, number][] }>()
  for (const [file] of one.files) {
    if (folder !== '' && !file.startsWith(`${folder}/`)) continue
    const text = await git(one.repo, one.before, 'show', `${one.before}:${file}`).catch(() => '')
    const functions = functionsOf(file, text)
    for (const range of await changedLines(one, file)) {
      const around = functions.findLast(({ first, last }) => first <= range[0] && range[1] <= last)
      if (around === undefined) continue
      const key = `${file}:${around.first}`
      const known = places.get(key)
      if (known === undefined)
        places.set(key, {
          file: folder === '' ? file : file.slice(folder.length + 1),
          function: around.name,
          function_lines: [around.first, around.last],
          changed: [range],
        })
      else known.changed.push(range)
    }
  }
  return [...places.values()]
}

const chosen = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Chosen[]
const cases: CommitCase[] = []
for (const one of chosen) {
  const folder = await packageFolderOf(one.repo, one.before, one.files[0]![0])
  const places = await placesOf(one, folder)
  if (places.length === 0 || places.length > 6) continue
  cases.push({
    id: `${one.repo}@${one.after.slice(0, 10)}`,
    repo: one.repo,
    before: one.before,
    after: one.after,
    ...(folder !== '' && { folder }),
    places,
  })
}
process.stdout.write(`${JSON.stringify({ cases }, undefined, 1)}\n`)
