"""What carries out the calls of the pipeline: this process or child processes; tasks/ adds Prefect."""
