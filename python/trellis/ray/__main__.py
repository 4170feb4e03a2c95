import sys

from trellis.bulk import command
from trellis.ray import jobs

sys.exit(command.run("python -m trellis.ray", "Bulk work on Ray, on this machine or the cluster that RAY_ADDRESS names.",
                     {"tokenize": jobs.tokenize, "embed": jobs.embed},
                     lambda parser: parser.add_argument("--workers", metavar="N", type=int, help="processes (as many as fit)")))
