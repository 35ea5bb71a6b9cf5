import { cleanUpAfterFile } from './cleanup.js';

cleanUpAfterFile();
