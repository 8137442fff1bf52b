import path from 'node:path'
import { isFields } from '../manifest/local-range.ts'
import { normalName, parseRequirement } from '../manifest/requirement.ts'
import type { WorkspacePackage } from '../model.ts'
import type { Document } from './documents.ts'
import { parsePythonVersion } from './python-version.ts'
import type { Problems } from './workspace-problems.ts'

/**
 * A pyproject.toml as a package, without its dependencies yet. Undefined for one without
 * `[project]`: settings of tools, or the root of a uv workspace that is not a package itself.
 */
export function pythonPackage(
  document: Document,
  isRoot: boolean,
  problems: Problems,
): WorkspacePackage | undefined {
  const { file, fields } = document
  const { project } = fields
  if (!isFields(project)) {
    if (!isRoot) {
      problems.add({
        file,
        line: 1,
        problem: 'it has no table [project]',
        todo: 'Add one with name and version, or list the folder in `exclude` of the workspace.',
      })
    }
    return undefined
  }
  const refuse = (key: string, problem: string, todo: string): void => {
    problems.add({ file, line: document.lineOf('project', key), problem, todo })
  }
  const before = problems.count
  const { name, version } = project
  const isPrivate = isNeverUploaded(fields, isRoot)
  if (typeof name !== 'string' || parseRequirement(name)?.name !== name) {
    refuse(
      'name',
      `\`project.name\` is ${name === undefined ? 'missing' : JSON.stringify(name)}`,
      'Use letters, digits, dashes, dots and underscores.',
    )
  }
  if (version === undefined) {
    if (!isPrivate && !builtFields(fields).version) {
      refuse('version', '`project.version` is missing', 'Add one, such as "0.1.0".')
    }
  } else if (typeof version !== 'string' || parsePythonVersion(version) === undefined) {
    refuse(
      'version',
      `\`project.version\` is ${JSON.stringify(version)}, which is not a version of Python (PEP 440)`,
      'Write numbers with dots, such as "1.2.3" or "1.2.3rc1".',
    )
  }
  checkRequirements(document, problems)
  if (problems.count > before) return undefined
  return {
    name: normalName(name as string),
    version: (version as string | undefined) ?? unknownVersion,
    ecosystem: 'python',
    folder: path.dirname(file),
    manifestFile: file,
    manifest: fields,
    isPrivate,
    dependencies: [],
  }
}

/** The version of a package until its build has named another one. */
export const unknownVersion = '0.0.0'

/** Fields that its manifest calls dynamic: only its build knows them. */
export function builtFields({ project }: WorkspacePackage['manifest']): {
  readonly version: boolean
  readonly dependencies: boolean
} {
  const listed = isFields(project) ? project['dynamic'] : undefined
  const dynamic = Array.isArray(listed) ? listed : []
  return {
    version: dynamic.includes('version'),
    dependencies: dynamic.includes('dependencies') || dynamic.includes('optional-dependencies'),
  }
}

/** PyPI refuses what says `Private ::`; uv builds nothing that says it is not a package. */
function isNeverUploaded(fields: Document['fields'], isRoot: boolean): boolean {
  const { project, tool } = fields
  const classifiers = isFields(project) ? project['classifiers'] : undefined
  if (
    Array.isArray(classifiers) &&
    classifiers.some((text) => String(text).startsWith('Private ::'))
  )
    return true
  const uv = isFields(tool) ? tool['uv'] : undefined
  const isPackage = isFields(uv) ? uv['package'] : undefined
  if (typeof isPackage === 'boolean') return !isPackage
  // The root of a uv workspace without a build system only holds the others together.
  return isRoot && isFields(uv) && isFields(uv['workspace']) && fields['build-system'] === undefined
}

/** A list of requirements and how the manifest calls it. */
export interface RequirementList {
  readonly group: string
  readonly keys: readonly string[]
  readonly requirements: readonly unknown[]
}

/** All lists of requirements: of the package, of its extras, of its build and of its development. */
export function requirementLists(fields: Document['fields']): RequirementList[] {
  const lists: RequirementList[] = []
  const at = (...keys: readonly string[]): unknown =>
    keys.reduce<unknown>((value, key) => (isFields(value) ? value[key] : undefined), fields)
  const add = (...keys: readonly string[]): void => {
    const requirements = at(...keys)
    if (Array.isArray(requirements)) lists.push({ group: keys.join('.'), keys, requirements })
  }
  const addAll = (...keys: readonly string[]): void => {
    const tables = at(...keys)
    if (isFields(tables)) for (const key of Object.keys(tables)) add(...keys, key)
  }
  add('project', 'dependencies')
  addAll('project', 'optional-dependencies')
  add('build-system', 'requires')
  addAll('dependency-groups')
  add('tool', 'uv', 'dev-dependencies')
  return lists
}

function checkRequirements(document: Document, problems: Problems): void {
  for (const { group, keys, requirements } of requirementLists(document.fields)) {
    for (const requirement of requirements) {
      // `{ include-group = "lint" }`
      if (isFields(requirement) && group.startsWith('dependency-groups.')) continue
      if (typeof requirement === 'string' && parseRequirement(requirement) !== undefined) continue
      const problem = `${JSON.stringify(requirement)} in \`${group}\` is not a requirement (PEP 508)`
      problems.add({
        file: document.file,
        line: document.lineOf(...keys),
        problem,
        todo: 'Write a name and a range, such as "core>=1.2".',
      })
    }
  }
}
