/**
 * From a folder to the packages of its workspace.
 *
 *   folder ──up──▶ root ──patterns──▶ folders ──manifests──▶ packages ──names──▶ dependencies
 *
 *  W1  All problems are reported at once, with file and line.
 *  W2  What is read does not depend on the order in which the disk answers.
 *  W3  A package belongs to the nearest workspace that lists it. One that no workspace lists stands
 *      alone, also inside of the folder of a workspace.
 *  W4  Names are unique. They are so across ecosystems too: people say "release core". A private package
 *      whose name another one has is left out: it is never released, and the name means the other one.
 *
 * Why our own reader: see docs/decisions/0200.
 */
import { realpath } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError } from '@heddle/core'
import { cancelled } from '@heddle/core/lowlevel'
import type { Ecosystem, Workspace, WorkspacePackage } from '../model.ts'
import {
  isWorkspaceRoot,
  npmPatterns,
  readDefinition,
  type Definition,
} from './workspace-definition.ts'
import { PackageIndex, withDependencies } from './dependencies.ts'
import { readDocument, type Document } from './documents.ts'
import { mapLimited, readsAtOnce } from './limited.ts'
import { findMembers } from './members.ts'
import { npmPackage } from './npm-package.ts'
import { builtMetadata, requireBuilder, type BuiltMetadataOptions } from './built-metadata.ts'
import { builtFields, pythonPackage, unknownVersion } from './python-package.ts'
import { Problems, compareText } from './workspace-problems.ts'
import { isThere } from './is-there.ts'
import { staticVersion } from './static-version.ts'

export interface ReadWorkspaceOptions {
  readonly signal?: AbortSignal
  /**
   * Only packages of this one; manifests of others are not read. All when absent. As a function it is asked when the
   * root is known, where a config of the workspace may name it.
   */
  readonly ecosystem?: Ecosystem | ((root: string) => Promise<Ecosystem | undefined>)
  /** For builds that compute a version. The one of this process when absent. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/**
 * Reads the workspace that a folder belongs to: npm, pnpm, Yarn, Bun, uv, or a package alone.
 *
 * *Cancellation*: nothing is left behind; files that are being read are read to their end.
 * *Fairness*: manifests are read in their order, 16 at a time.
 *
 * @throws `HDL_NO_WORKSPACE` when neither the folder nor one above it has a manifest;
 * `HDL_WORKSPACE_INVALID` with all that is wrong in the manifests.
 *
 * @example
 * const workspace = await readWorkspace(process.cwd(), { signal })
 * workspace.tool // 'pnpm'
 * workspace.packages.get('@acme/core')?.version
 */
export async function readWorkspace(
  folder: string,
  options: ReadWorkspaceOptions = {},
): Promise<Workspace> {
  const { signal } = options
  const start = await realpath(folder).catch(() => {
    throw new HeddleError('HDL_NO_WORKSPACE', { folder: path.resolve(folder) })
  })
  let standalone: string | undefined
  for (const candidate of await foldersAbove(start)) {
    if (signal?.aborted) throw cancelled('Reading the workspace', signal.reason)
    const problems = new Problems(candidate)
    const definition = await readDefinition(candidate, problems)
    if (definition === undefined) continue
    if (definition.members.length === 0) {
      standalone ??= candidate
      continue
    }
    const members = await memberFiles(definition, signal)
    if (
      standalone === undefined ||
      members.files.some((file) => path.dirname(file) === standalone)
    ) {
      return readPackages(definition, members, problems, options)
    }
  }
  if (standalone === undefined) throw new HeddleError('HDL_NO_WORKSPACE', { folder: start })
  const problems = new Problems(standalone)
  const alone = (await readDefinition(standalone, problems))!
  return readPackages(alone, { files: [], notEntered: [] }, problems, options)
}

/** From the folder up to the root of the repository: folders above do not belong to it. */
async function foldersAbove(start: string): Promise<string[]> {
  const folders = [start]
  for (;;) {
    const last = folders.at(-1)!
    const above = path.dirname(last)
    const isRepository = await isThere(path.join(last, '.git'))
    if (isRepository || above === last) return folders
    folders.push(above)
  }
}

interface MemberFiles {
  readonly files: readonly string[]
  /** The folders that `workspaces` of package.json means, where pnpm-workspace.yaml means more. */
  readonly listed?: ReadonlySet<string>
  readonly notEntered: readonly string[]
}

async function memberFiles(
  { root, tool, members, packageJson }: Definition,
  signal: AbortSignal | undefined,
): Promise<MemberFiles> {
  const files: string[] = []
  const closed: string[] = []
  for (const patterns of members) {
    const { folders, notEntered } = await findMembers(root, patterns, isWorkspaceRoot, signal)
    files.push(...folders.map((found) => path.join(found, patterns.manifest)))
    closed.push(...notEntered)
  }
  const listed = await listedFolders({ root, tool, packageJson }, signal)
  return { files, notEntered: [...new Set(closed)], ...(listed !== undefined && { listed }) }
}

/** Undefined where there is no such list, or where it means no member: then it is not about this workspace. */
async function listedFolders(
  { root, tool, packageJson }: Pick<Definition, 'root' | 'tool' | 'packageJson'>,
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<string> | undefined> {
  if (tool !== 'pnpm' || packageJson === undefined) return undefined
  // pnpm ignores this list, so mistakes in it are not reported either.
  const patterns = npmPatterns(packageJson, new Problems(root))
  if (patterns === undefined) return undefined
  const list = { manifest: 'package.json', patterns, exclude: [], isOrdered: false } as const
  const { folders } = await findMembers(root, list, isWorkspaceRoot, signal)
  const withManifest = await mapLimited(
    folders,
    readsAtOnce,
    (folder) => isThere(path.join(folder, 'package.json')),
    signal,
  )
  return withManifest.includes(true) ? new Set(folders) : undefined
}

async function readPackages(
  definition: Definition,
  { files, notEntered, listed }: MemberFiles,
  problems: Problems,
  { signal, env, ecosystem }: ReadWorkspaceOptions,
): Promise<Workspace> {
  const { root, tool, catalogs } = definition
  const isRoot = tool !== 'single'
  const only = typeof ecosystem === 'function' ? await ecosystem(root) : ecosystem
  const packageJson = only === 'python' ? undefined : definition.packageJson
  const pyproject = only === 'npm' ? undefined : definition.pyproject
  const read = await mapLimited(
    files.filter((file) => only === undefined || ecosystemOf(file) === only),
    readsAtOnce,
    async (file) => readDocument(file, problems),
    signal,
  )
  const rootPackage = packageJson && npmPackage(packageJson, isRoot, problems)
  const isLeftOut = isRoot && (await publishesMembersOnly(definition))
  const found: (WorkspacePackage | undefined)[] = [
    rootPackage && isLeftOut ? { ...rootPackage, leftOut: 'root' } : rootPackage,
    pyproject && pythonPackage(pyproject, isRoot || definition.packageJson !== undefined, problems),
  ]
  const nameless: string[] = []
  for (const document of read) {
    if (document === undefined) continue
    const isNpm = ecosystemOf(document.file) === 'npm'
    if (isNpm && isNameless(document)) {
      nameless.push(namelessWarning(root, document.file))
      continue
    }
    const each = isNpm
      ? npmPackage(document, false, problems)
      : pythonPackage(document, false, problems)
    const isUnlisted = each?.ecosystem === 'npm' && listed?.has(each.folder) === false
    found.push(each && isUnlisted ? { ...each, leftOut: 'unlisted' } : each)
  }
  const packages = withoutShadows(found.filter((each) => each !== undefined))
  checkNames(root, packages, problems)
  problems.throwIfAny()
  const versioned = await withBuiltMetadata(packages, problems, { signal, env })
  problems.throwIfAny()

  const index = new PackageIndex(root, versioned)
  const sorted = versioned.toSorted((a, b) => compareText(a.name, b.name))
  return {
    root,
    tool,
    packages: new Map(sorted.map((each) => [each.name, withDependencies(each, index)])),
    catalogs,
    ...warningsOf([
      ...notEntered.map((each) => notEnteredWarning(root, each)),
      ...nameless,
      ...unlistedWarning(sorted),
      ...(isRoot && !isLeftOut ? rootWarning(rootPackage) : []),
    ]),
  }
}

function ecosystemOf(manifestFile: string): Ecosystem {
  return path.basename(manifestFile) === 'package.json' ? 'npm' : 'python'
}

function warningsOf(warnings: readonly string[]): Pick<Workspace, 'warnings'> {
  return warnings.length === 0 ? {} : { warnings }
}

/**
 * Whether the root is not published with its members: `npm publish --workspaces` and lerna leave it out. One that says
 * `"private": false` asks for it.
 */
async function publishesMembersOnly({ root, tool, packageJson }: Definition): Promise<boolean> {
  if (packageJson === undefined || packageJson.fields['private'] === false) return false
  return tool === 'npm' || (tool !== 'uv' && (await isThere(path.join(root, 'lerna.json'))))
}

function rootWarning(rootPackage: WorkspacePackage | undefined): string[] {
  if (rootPackage === undefined || rootPackage.isPrivate) return []
  if (rootPackage.manifest['private'] === false) return []
  return [
    `${rootPackage.name}, the root of the workspace, is released like its packages. Add "private": true to it, or "private": false where that is meant.`,
  ]
}

/** One build at a time: builds are not small. A version that stands in a file needs none. */
async function withBuiltMetadata(
  packages: readonly WorkspacePackage[],
  problems: Problems,
  options: BuiltMetadataOptions,
): Promise<WorkspacePackage[]> {
  const known: WorkspacePackage[] = []
  for (const each of packages) {
    const { version } = builtFields(each.manifest)
    const read = isBuilt(each) && version ? await staticVersion(each) : undefined
    known.push(read === undefined ? each : { ...each, version: read })
  }
  const isKnown = (each: WorkspacePackage): boolean => {
    const { version, dependencies } = builtFields(each.manifest)
    return !isBuilt(each) || ((!version || each.version !== unknownVersion) && !dependencies)
  }
  const unknown = known.filter((each) => !isKnown(each))
  if (unknown.length === 0) return known
  const builder = await requireBuilder(unknown, problems, options)
  if (builder === undefined) return known
  const built: WorkspacePackage[] = []
  for (const each of known) {
    const { version, dependencies } = builtFields(each.manifest)
    const found = isKnown(each) ? undefined : await builtMetadata(each, builder, problems, options)
    built.push({
      ...each,
      ...(found !== undefined && version && { version: found.version }),
      ...(found !== undefined && dependencies && { builtRequirements: found.requirements }),
    })
  }
  return built
}

/** Whether a build determines the published files. */
function isBuilt({ ecosystem, isPrivate, manifest }: WorkspacePackage): boolean {
  const { version, dependencies } = builtFields(manifest)
  return ecosystem === 'python' && !isPrivate && (version || dependencies)
}

function notEnteredWarning(root: string, folder: string): string {
  const name = path.relative(root, folder).split(path.sep).join('/')
  return `${name} is a workspace of its own: packages below it are not released with this one.`
}

/** A member that has a version, as tools that raise all versions leave it, and no name: no package manager publishes it. */
function isNameless({ fields }: Document): boolean {
  const { name, version } = fields
  return (name === undefined || name === '') && version !== undefined && !fields['private']
}

function namelessWarning(root: string, file: string): string {
  const shown = path.relative(root, file).split(path.sep).join('/')
  return `${shown} has no "name": it is not released.`
}

/** Names that a warning lists. */
const mostNames = 5

function unlistedWarning(packages: readonly WorkspacePackage[]): string[] {
  const names = packages
    .filter(({ leftOut, isPrivate }) => leftOut === 'unlisted' && !isPrivate)
    .map(({ name }) => name)
  if (names.length === 0) return []
  const more = names.length > mostNames ? ` and ${names.length - mostNames} more` : ''
  return [
    `pnpm-workspace.yaml lists packages that "workspaces" of package.json does not list; they are not released: ${names.slice(0, mostNames).join(', ')}${more}. Add them there, or name them with include.`,
  ]
}

/** W4: among packages with one name, those that can be published; the first one where none can. */
function withoutShadows(packages: readonly WorkspacePackage[]): WorkspacePackage[] {
  const byName = Map.groupBy(packages, ({ name }) => name)
  return packages.filter((each) => {
    const same = byName.get(each.name)!
    const isMeant = ({ isPrivate, leftOut }: WorkspacePackage): boolean =>
      !isPrivate && leftOut === undefined
    return same.some(isMeant) ? isMeant(each) : each === same[0]
  })
}

function checkNames(root: string, packages: readonly WorkspacePackage[], problems: Problems): void {
  const seen = new Map<string, WorkspacePackage>()
  for (const found of packages) {
    const first = seen.get(found.name)
    if (first === undefined) {
      seen.set(found.name, found)
      continue
    }
    const todo =
      first.ecosystem === found.ecosystem
        ? 'Give one of them another name.'
        : 'Add --ecosystem npm or --ecosystem python, or give one of them another name.'
    const problem = `the name "${found.name}" is taken by ${path.relative(root, first.manifestFile)}`
    problems.add({ file: found.manifestFile, problem, todo })
  }
}
