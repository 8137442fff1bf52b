import { journalConformance } from '../../../src/journal/conformance.ts'
import { newStore } from './store-folder.ts'

journalConformance('sqlite', () => newStore('fsync'))
