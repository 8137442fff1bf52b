/** Which Markdown files of the checkout are pages of the site. */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

export const root: string = path.resolve(import.meta.dirname, '..')

const pages = new Set(
  globSync(
    ['*.md', 'docs/**/*.md', 'examples/**/*.md', 'packages/*/*.md', 'chaos/*.md', 'deploy/*.md'],
    {
      cwd: root,
      exclude: (name) => /(^|[/\\])(node_modules|dist|\.[^/\\]+)$/.test(name),
    },
  ).map((file) => file.split(path.sep).join('/')),
)

/** Whether this file, named from the root of the checkout, is a page. */
export function isPage(file: string): boolean {
  return pages.has(file)
}

/** Markdown that is not a page: fixtures of tests. VitePress would take every file that it is not asked to leave out. */
export function strayPages(): string[] {
  return globSync('**/*.md', {
    cwd: root,
    exclude: (name) => /(^|[/\\])node_modules$/.test(name),
  })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => !isPage(file))
}

/** The README of a folder is what the address of the folder shows. */
export function pageOf(file: string): string {
  return file.replace(/(^|\/)README\.md$/, '$1index.md')
}

export function titleOf(file: string): string {
  const text = readFileSync(path.join(root, file), 'utf8')
  return (/^# (.+)$/m.exec(text)?.[1] ?? file).replaceAll('`', '')
}
