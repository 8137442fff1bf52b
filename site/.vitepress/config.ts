/**
 * The documentation as a site: the pages of the checkout as they are, with the folders they have there, so that a link works in
 * the repository and on the site alike. `npm run docs` builds it into site/dist.
 */
import path from 'node:path'
import { defineConfig } from 'vitepress'
import { copyLinkedFiles, followLinks } from '../links.ts'
import { sidebar } from '../navigation.ts'
import { pageOf, root, strayPages } from '../pages.ts'

export default defineConfig({
  title: 'Heddle',
  description: 'Run heavy work from one event loop without ever blocking it.',
  srcDir: root,
  srcExclude: strayPages(),
  outDir: path.join(root, 'site/dist'),
  cacheDir: path.join(root, 'node_modules/.cache/vitepress'),
  rewrites: pageOf,
  // Dates would need the history, which an archive of the sources does not have.
  lastUpdated: false,
  markdown: { config: followLinks },
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        // Words of the text. Colouring all code a second time would take as long as the pages themselves.
        _render: (text, env, markdown) =>
          markdown.render(text.replaceAll(/^```[^]*?^```$/gm, ''), env),
      },
    },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/docs/start/install' },
      { text: 'Guides', link: '/docs/guide/graphs' },
      { text: 'Reference', link: '/docs/reference/cli' },
      { text: 'All pages', link: '/docs/' },
    ],
    sidebar: sidebar(),
  },
  buildEnd: ({ outDir }) => copyLinkedFiles(outDir),
})
