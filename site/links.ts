/**
 * Links of the pages, as they are written for readers of the repository.
 *
 * A link to a page stays one. A link to a folder shows its README. A link to any other file of the repository (a unit of systemd, a source
 * file) shows that file: it is copied to the same place of the site.
 */
import { copyFileSync, existsSync, mkdirSync, statSync } from 'node:fs'
import path from 'node:path'
import type { MarkdownRenderer } from 'vitepress'
import { isPage, root } from './pages.ts'

type Token = ReturnType<MarkdownRenderer['parse']>[number]

/** Files beside the pages that a page has linked. */
const linkedFiles = new Set<string>()

export function followLinks(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push('links-of-the-repository', ({ tokens, env }) => {
    const page = (env as { relativePath: string }).relativePath
    for (const { children } of tokens) {
      for (const token of children ?? []) if (token.type === 'link_open') followLink(token, page)
    }
  })
}

function followLink(token: Token, page: string): void {
  const href = token.attrGet('href') ?? ''
  if (/^(?:\w+:|#)/.test(href)) return
  const [, to, anchor] = /^([^#]*)(#.*)?$/.exec(href)!
  const target = path.posix.normalize(path.posix.join(path.posix.dirname(page), decodeURI(to!)))
  const full = path.join(root, target)
  // VitePress names a link that leads nowhere.
  if (!existsSync(full)) return
  const readme = path.posix.join(target, 'README.md')
  if (statSync(full).isDirectory()) {
    if (isPage(readme)) token.attrSet('href', `/${readme.replace('README.md', '')}`)
  } else if (/(^|\/)README\.md$/.test(target) && isPage(target)) {
    token.attrSet('href', `/${target.replace('README.md', '')}${anchor ?? ''}`)
  } else if (!isPage(target)) {
    linkedFiles.add(target)
    // Rendered as HTML: VitePress would look for a page.
    token.type = 'html_inline'
    token.content = `<a href="/${target}" target="_blank">`
  }
}

export function copyLinkedFiles(to: string): void {
  for (const file of linkedFiles) {
    mkdirSync(path.join(to, path.dirname(file)), { recursive: true })
    copyFileSync(path.join(root, file), path.join(to, file))
  }
}
