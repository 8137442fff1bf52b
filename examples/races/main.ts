/** Shows each race, and its repair: `node --conditions=heddle-source examples/races/main.ts` */
import { gallery } from './gallery.ts'

for (const { name, rule, title, show } of gallery) {
  const race = await show('race')
  const fixed = await show('fixed')
  console.log(`${rule}  ${title} (${name})`)
  console.log(`      race:  ${race.what}`)
  console.log(`      fixed: ${fixed.what}\n`)
}
