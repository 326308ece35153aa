"""The figures and tables of the three papers, each as a recipe that runs on any release."""
