/**
 * Writes llms.txt (https://llmstxt.org) for language models that read the repository: what Heddle is, from the README, and each page that
 * docs/README.md lists, with its own title. With `--check` only compares.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { root } from './tool.ts'

const file = path.join(root, 'llms.txt')

interface Row {
  /** From the root of the repository. */
  readonly page: string
  readonly says: string
}

/** The sections, by the folder that a page is in; a page belongs to the first one that fits. */
const sections: readonly (readonly [title: string, holds: (page: string) => boolean])[] = [
  ['Start', (page) => /^(README|docs\/(start\/)?[^/]+)\.md$/.test(page)],
  ['Guides', (page) => page.startsWith('docs/guide/')],
  ['Reference', (page) => page.startsWith('docs/reference/')],
  ['Examples', (page) => page.startsWith('examples/')],
  ['Optional', () => true],
]

/** The first paragraph of the README. */
function summary(): string {
  const [, paragraph = ''] = /^# .+\n\n([^]+?)\n\n/.exec(readPage('README.md')) ?? []
  return paragraph.replaceAll('\n', ' ')
}

function readPage(page: string): string {
  return readFileSync(path.join(root, page), 'utf8')
}

/** The rows of docs/README.md that lead to a page; those that lead to a folder have its README, or none. */
function rows(): Row[] {
  const found = readPage('docs/README.md').matchAll(/^\| \[[^\]]+\]\(([^)#]+)\) \| (.+) \|$/gm)
  return Array.from(found, ([, link = '', says = '']) => ({
    page: path.posix.normalize(path.posix.join('docs', link)),
    // Links of the table are relative to docs/, so only their text is kept.
    says: says.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1'),
  })).filter(({ page }) => page.endsWith('.md') && existsSync(path.join(root, page)))
}

function titleOf(page: string): string {
  return /^# (.+)$/m.exec(readPage(page))?.[1] ?? page
}

function text(): string {
  const lines = ['# Heddle', '', `> ${summary()}`]
  const left = new Set(rows())
  for (const [title, holds] of sections) {
    const own = [...left].filter(({ page }) => holds(page))
    if (own.length > 0) lines.push('', `## ${title}`, '')
    for (const row of own) {
      left.delete(row)
      lines.push(`- [${titleOf(row.page)}](${row.page}): ${row.says}`)
    }
  }
  return `${lines.join('\n')}\n`
}

if (process.argv.includes('--check')) {
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text()) {
    console.error('llms.txt is not what README.md and docs/README.md say: run `npm run format`.')
    process.exitCode = 1
  }
} else {
  writeFileSync(file, text())
}
