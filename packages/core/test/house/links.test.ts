import assert from 'node:assert/strict'
import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { files, read, root } from './tree.ts'

const pages = files(
  '*.md',
  'docs/**/*.md',
  'packages/*/*.md',
  'examples/**/*.md',
  'chaos/*.md',
  'deploy/*.md',
)

interface Link {
  /** The path from the root, with `/` between folders. */
  readonly target: string
  readonly anchor: string | undefined
}

/** Links to files of the repository, outside of code. */
function linksOf(page: string): Link[] {
  const text = read(page)
    .replaceAll(/^```[^]*?^```$/gm, '')
    .replaceAll(/`[^`\n]*`/g, '')
  return Array.from(
    text.matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)/g),
    ([, to, anchor]) => ({
      target:
        to === '' ? page : path.posix.normalize(path.posix.join(path.posix.dirname(page), to!)),
      anchor,
    }),
  )
}

const anchors = new Map<string, Set<string>>()
function anchorsOf(page: string): Set<string> {
  const known = anchors.get(page) ?? readAnchors(page)
  anchors.set(page, known)
  return known
}

/** Anchors that GitHub makes from headings: the second one of a name ends with `-1`. */
function readAnchors(page: string): Set<string> {
  const found = new Set<string>()
  const counts = new Map<string, number>()
  for (const [, heading] of read(page).matchAll(/^#{1,6} (.+)$/gm)) {
    const words = heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const anchor = words.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(/\s/g, '-')
    const count = counts.get(anchor) ?? 0
    counts.set(anchor, count + 1)
    found.add(count > 0 ? `${anchor}-${count}` : anchor)
  }
  for (const [, id] of read(page).matchAll(/<a (?:id|name)="([^"]+)"/g)) found.add(id!)
  return found
}

test('every link between pages leads to a file, and to a heading that is there', () => {
  const broken: string[] = []
  for (const page of pages) {
    for (const { target, anchor } of linksOf(page)) {
      const isThere = existsSync(path.join(root, target))
      if (!isThere) broken.push(`${page}: ${target}`)
      else if (anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor)) {
        broken.push(`${page}: ${target}#${anchor}`)
      }
    }
  }
  assert.deepEqual(broken, [])
})

test('every page of the documentation is reached from the README in two steps', () => {
  const first = linksOf('README.md').map(({ target }) => target)
  const reached = new Set(first)
  for (const page of first) {
    if (!page.endsWith('.md') || !existsSync(path.join(root, page))) continue
    for (const { target } of linksOf(page)) reached.add(target)
  }
  // A link to a folder shows its content.
  const folders = [...reached].filter((target) => {
    const full = path.join(root, target)
    return existsSync(full) && statSync(full).isDirectory()
  })
  const isReached = (page: string): boolean =>
    reached.has(page) ||
    folders.some((folder) => path.posix.dirname(page) === folder.replace(/\/$/, ''))
  const lost = pages.filter((page) => page.startsWith('docs/') && !isReached(page))
  assert.deepEqual(lost, [])
})
