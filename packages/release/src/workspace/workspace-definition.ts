/** The workspace definitions of a root folder, in the words of each tool. */
import path from 'node:path'
import { isFields } from '../manifest/local-range.ts'
import type { Workspace } from '../model.ts'
import { readCatalogs, type Catalogs } from './catalogs.ts'
import { readDocument, type Document } from './documents.ts'
import { isThere } from './is-there.ts'
import { leadsOutside, type MemberPatterns } from './members.ts'
import { Problems } from './workspace-problems.ts'

export interface Definition {
  /** Absolute. */
  readonly root: string
  readonly tool: Workspace['tool']
  /** Empty for a package that stands alone. */
  readonly members: readonly MemberPatterns[]
  readonly catalogs: Catalogs
  readonly packageJson: Document | undefined
  readonly pyproject: Document | undefined
}

/** The texts of a list in a document. Everything else in it is a problem. */
function textsAt(
  document: Document,
  keys: readonly string[],
  problems: Problems,
): string[] | undefined {
  let value: unknown = document.fields
  for (const key of keys) value = isFields(value) ? value[key] : undefined
  if (value === undefined || value === null) return undefined
  const where = { file: document.file, line: document.lineOf(...keys) }
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
    problems.add({
      ...where,
      problem: `\`${keys.join('.')}\` is not a list of strings`,
      todo: 'List the folders of the packages, such as "packages/*".',
    })
    return []
  }
  const outside = value.filter(leadsOutside)
  for (const pattern of outside) {
    problems.add({
      ...where,
      problem: `"${pattern}" leads out of the workspace`,
      todo: 'Move the package inside, or release it from its own workspace.',
    })
  }
  return value.filter((pattern) => !outside.includes(pattern))
}

/** npm and Yarn: a list, or a table with the list in `packages`. */
export function npmPatterns(packageJson: Document, problems: Problems): string[] | undefined {
  const isTable = isFields(packageJson.fields['workspaces'])
  return textsAt(packageJson, isTable ? ['workspaces', 'packages'] : ['workspaces'], problems)
}

/** The package manager: named by the project, or recognized by its lock file. */
async function npmTool(
  root: string,
  packageJson: Document | undefined,
): Promise<'npm' | 'pnpm' | 'yarn' | 'bun'> {
  const declared = packageJson?.fields['packageManager']
  const said = typeof declared === 'string' ? declared.split('@')[0] : undefined
  if (said === 'npm' || said === 'pnpm' || said === 'yarn' || said === 'bun') return said
  const locks = [
    ['package-lock.json', 'npm'],
    ['npm-shrinkwrap.json', 'npm'],
    ['yarn.lock', 'yarn'],
    ['.yarnrc.yml', 'yarn'],
    ['bun.lock', 'bun'],
    ['bun.lockb', 'bun'],
  ] as const
  for (const [file, tool] of locks) if (await isThere(path.join(root, file))) return tool
  return 'npm'
}

/**
 * Reads the definition in the folder itself. Undefined when it has no manifest.
 *
 * *Cancellation*: none; a few small files are read.
 */
export async function readDefinition(
  root: string,
  problems: Problems,
): Promise<Definition | undefined> {
  const read = (name: string): Promise<Document | undefined> =>
    readDocument(path.join(root, name), problems)
  const packageJson = await read('package.json')
  const pnpm = await read('pnpm-workspace.yaml')
  const pyproject = await read('pyproject.toml')
  if (packageJson === undefined && pnpm === undefined && pyproject === undefined) {
    return problems.count === 0 ? undefined : emptyDefinition(root)
  }

  const members: MemberPatterns[] = []
  let tool: Workspace['tool'] = 'single'
  const pnpmPatterns = pnpm && textsAt(pnpm, ['packages'], problems)
  const patterns = pnpmPatterns ?? (packageJson && npmPatterns(packageJson, problems))
  if (patterns !== undefined) {
    tool = pnpmPatterns === undefined ? await npmTool(root, packageJson) : 'pnpm'
    members.push({ manifest: 'package.json', patterns, exclude: [], isOrdered: tool === 'npm' })
  }
  const uv = pyproject && textsAt(pyproject, ['tool', 'uv', 'workspace', 'members'], problems)
  if (pyproject !== undefined && uv !== undefined) {
    if (tool === 'single') tool = 'uv'
    const exclude = textsAt(pyproject, ['tool', 'uv', 'workspace', 'exclude'], problems) ?? []
    members.push({ manifest: 'pyproject.toml', patterns: uv, exclude, isOrdered: false })
  }
  const yarn = tool === 'yarn' ? await read('.yarnrc.yml') : undefined
  return {
    root,
    tool,
    members,
    catalogs: readCatalogs({ packageJson, pnpm, yarn }, problems),
    packageJson,
    pyproject,
  }
}

/** There is something here that could not be read: the problems say what. */
function emptyDefinition(root: string): Definition {
  return {
    root,
    tool: 'single',
    members: [],
    catalogs: new Map(),
    packageJson: undefined,
    pyproject: undefined,
  }
}

/** Whether a folder is the root of a workspace, its own or one inside of another. */
export async function isWorkspaceRoot(folder: string): Promise<boolean> {
  // Faults there are reported when that workspace is read.
  const definition = await readDefinition(folder, new Problems(folder))
  return definition !== undefined && definition.members.length > 0
}
