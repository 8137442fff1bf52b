import path from 'node:path'
import semver from 'semver'
import { dependencyGroups, isFields } from '../manifest/local-range.ts'
import type { WorkspacePackage } from '../model.ts'
import type { Document } from './documents.ts'
import type { Problems } from './workspace-problems.ts'

/** Old names with capitals are still published under them. */
const validName = /^(?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*$/i

/**
 * A package.json as a package, without its dependencies yet.
 *
 * Undefined for one that no package can refer to and that is not released: a private folder without a
 * name, one with neither name nor version, or the root of a workspace, which often is not a package at all.
 */
export function npmPackage(
  document: Document,
  isRoot: boolean,
  problems: Problems,
): WorkspacePackage | undefined {
  const { file, fields } = document
  const { name, version } = fields
  const isPrivate = Boolean(fields['private'])
  const refuse = (key: string, problem: string, todo: string): void => {
    problems.add({ file, line: document.lineOf(key), problem, todo })
  }
  const before = problems.count
  if (name === undefined || name === '') {
    if (isPrivate || isRoot || version === undefined) return undefined
    refuse(
      'name',
      'it has no "name"',
      'Add one, or `"private": true` if it is not to be published.',
    )
  } else if (typeof name !== 'string') {
    refuse('name', '"name" is not a string', 'Put the name in quotes.')
  } else if (!isPrivate && (!validName.test(name) || name.length > 214)) {
    refuse(
      'name',
      `"name" is ${JSON.stringify(name)}, which no registry accepts`,
      'Use small letters, digits, dashes and dots, at most 214 of them.',
    )
  }
  const isUnversioned = version === undefined || version === ''
  if (!isUnversioned && !isVersion(version)) {
    refuse(
      'version',
      `"version" is ${JSON.stringify(version)}, which is not a semantic version`,
      'Write three numbers, such as "1.2.3" or "1.2.3-rc.0".',
    )
  }
  checkRanges(document, problems)
  if (problems.count > before) return undefined
  return {
    name: name as string,
    version: isUnversioned ? '0.0.0' : (version as string),
    ecosystem: 'npm',
    folder: path.dirname(file),
    manifestFile: file,
    manifest: fields,
    // Sites, fixtures and roots have a name and no version; no package manager publishes them.
    isPrivate: isPrivate || isUnversioned,
    dependencies: [],
  }
}

/** Without the `v` and the spaces that the library forgives. */
function isVersion(version: unknown): boolean {
  return typeof version === 'string' && /^\d\S*$/.test(version) && semver.valid(version) !== null
}

function checkRanges(document: Document, problems: Problems): void {
  for (const group of dependencyGroups) {
    const listed = document.fields[group]
    if (listed === undefined) continue
    const refuse = (problem: string, ...keys: readonly string[]): void => {
      problems.add({
        file: document.file,
        line: document.lineOf(group, ...keys),
        problem,
        todo: 'Write names on the left and ranges in quotes on the right.',
      })
    }
    if (!isFields(listed)) {
      refuse(`"${group}" is not a table of ranges`)
      continue
    }
    for (const [dependency, range] of Object.entries(listed)) {
      if (typeof range !== 'string')
        refuse(`the range of "${dependency}" in "${group}" is not a string`, dependency)
    }
  }
}
