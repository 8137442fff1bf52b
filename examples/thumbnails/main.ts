/** Makes 500 thumbnails and shows how far it has come. */
import { run } from '@heddle/core'
import makeGraph from './graph.ts'

const count = 500
let done = 0
const result = await run(makeGraph(['thumbnails', String(count)]), {
  observer: (event) => {
    if (event.type !== 'part' || event.state !== 'succeeded') return
    done++
    if (done % 100 === 0) console.log(`${done} of ${count}`)
  },
})
if (!result.ok) throw new Error('some thumbnails are missing', { cause: result.failed })
const kilobytes = (result.valueOf('page') as number) / 1_000
console.log(`${kilobytes.toFixed(0)} kB in ${(result.duration / 1_000).toFixed(1)} s`)
console.log('open thumbnails/index.html')
