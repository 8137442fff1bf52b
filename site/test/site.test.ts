/** The documentation as a site: it is built as `npm run docs` builds it, and looked at as a reader would. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { before, describe, test } from 'node:test'
import { sidebar } from '../navigation.ts'
import { root } from '../pages.ts'

/** Milliseconds. It takes 20 s of a processor; beside eight busy processes on two cores that is minutes. */
const timeout = 590_000
const dist = path.join(root, 'site/dist')

describe('the site', () => {
  before(
    () => {
      const { status, stdout, stderr } = spawnSync(process.execPath, ['site/build.ts'], {
        cwd: root,
        encoding: 'utf8',
        env: { ...process.env, NO_COLOR: '1' },
      })
      assert.equal(status, 0, `${stdout}\n${stderr}`)
    },
    { timeout },
  )

  test('sections come in the order in which readers need them', () => {
    const wanted = [
      'Start',
      'Concepts',
      'Guides',
      'Reference',
      'Compare',
      'Migrate',
      'Design',
      'Decisions',
    ]
    const titles = sidebar().map(({ text }) => text!)
    assert.deepEqual(
      titles.filter((title) => wanted.includes(title)),
      wanted,
    )
  })

  test('every entry of the navigation has a page', () => {
    const links = sidebar().flatMap(({ items = [] }) => items.map(({ link }) => link!))
    assert.ok(links.length > 60, `${links.length} entries`)
    const missing = links.filter(
      (link) =>
        !existsSync(path.join(dist, link.endsWith('/') ? `${link}index.html` : `${link}.html`)),
    )
    assert.deepEqual(missing, [])
  })

  test('links that start with / lead to files of the site, also links to source files', () => {
    const missing = new Set<string>()
    for (const file of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.html')) continue
      const html = readFileSync(path.join(dist, file), 'utf8')
      for (const [, link] of html.matchAll(/<a[^>]* href="(\/[^"#?]*)/g)) {
        const target = decodeURI(link!)
        const candidates = [target, `${target}.html`, path.join(target, 'index.html')]
        if (!candidates.some((each) => existsSync(path.join(dist, each))))
          missing.add(`${file}: ${link}`)
      }
    }
    assert.deepEqual([...missing], [])
  })

  test('pages load nothing from elsewhere', () => {
    const html = readFileSync(path.join(dist, 'docs/index.html'), 'utf8')
    const loaded = [...html.matchAll(/<(?:script|link|img)[^>]* (?:src|href)="([^"]*)/g)].map(
      ([, url]) => url!,
    )
    assert.ok(loaded.length > 0)
    assert.deepEqual(
      loaded.filter((url) => /^(?:\w+:)?\/\//.test(url)),
      [],
    )
  })
})
