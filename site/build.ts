/** Builds the site into site/dist: `npm run docs`. A link that leads nowhere ends it with an error. */
import { build } from 'vitepress'

await build(import.meta.dirname)
