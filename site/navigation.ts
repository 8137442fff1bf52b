/**
 * The navigation of the site: the sections and rows of docs/README.md, each page with its own title. Single decisions are left out: the
 * navigation is part of every page, and their index lists them.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { DefaultTheme } from 'vitepress'
import { isPage, pageOf, root, titleOf } from './pages.ts'

export function sidebar(): DefaultTheme.SidebarItem[] {
  const text = readFileSync(path.join(root, 'docs/README.md'), 'utf8')
  return text
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const title = section.slice(0, section.indexOf('\n'))
      const links = Array.from(section.matchAll(/^\| \[[^\]]+\]\(([^)#]+)\) \|/gm), ([, to]) =>
        path.posix.normalize(path.posix.join('docs', to!)),
      )
      return { text: title, collapsed: title !== 'Start', items: links.flatMap(itemOf) }
    })
}

function itemOf(target: string): DefaultTheme.SidebarItem[] {
  const page = target.endsWith('.md') ? target : `${target.replace(/\/$/, '')}/README.md`
  if (!isPage(page)) return []
  return [{ text: titleOf(page), link: `/${pageOf(page).replace(/(index)?\.md$/, '')}` }]
}
