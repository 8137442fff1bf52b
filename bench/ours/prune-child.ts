/** The program of {@link pruneInProcess}: `prune-child.ts <address> <milliseconds since 1970>`. */
import { openJournal } from '@heddle/core/lowlevel'

const [address = '', before = ''] = process.argv.slice(2)
await using journal = await openJournal(address)
const { runs } = await journal.prune!({ before: Number(before) })
console.log(runs.length)
